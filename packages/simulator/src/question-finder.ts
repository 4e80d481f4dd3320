import type { RequestedCell } from './cell-key.ts';
import type { PromptRequest } from './prompt-request.ts';
import type { SimulatedQuestion } from './simulated-question.ts';

const anchorChars = 16;

/** Finds the known question a request is about. */
export type QuestionFinder = (
  request: PromptRequest,
  cell: RequestedCell | undefined,
) => SimulatedQuestion | undefined;

/**
 * Indexes questions for lookup by cell id, by exact text, or by the longest text inside a prompt.
 *
 * @param questions - If two have the same text, lookup by text returns the first one.
 */
export function createQuestionFinder(questions: Iterable<SimulatedQuestion>): QuestionFinder {
  const byId = new Map<string, SimulatedQuestion>();
  const byText = new Map<string, SimulatedQuestion>();
  for (const question of questions) {
    byId.set(question.id, question);
    const text = question.question.trim();
    if (text !== '' && !byText.has(text)) byText.set(text, question);
  }
  const findLongestInside = createTextScanner([...byText.keys()]);

  return (request, cell) => {
    const named = cell === undefined ? undefined : byId.get(cell.id);
    if (named !== undefined) return named;
    const { question, userText } = request;
    if (question === undefined || userText === undefined) return undefined;
    const exact = byText.get(question.trim()) ?? byText.get(userText.trim());
    if (exact !== undefined) return exact;
    const inside = findLongestInside(userText);
    return inside === undefined ? undefined : byText.get(inside);
  };
}

/**
 * Builds a function that finds the longest of many texts inside a prompt in about one pass.
 *
 * Texts are grouped by their first characters, so that at each position of the prompt only texts with a
 * matching prefix are compared in full.
 */
function createTextScanner(texts: readonly string[]): (prompt: string) => string | undefined {
  const groupsByLength = new Map<number, Map<string, string[]>>();
  for (const text of texts.toSorted((a, b) => b.length - a.length)) {
    const anchor = text.slice(0, anchorChars);
    const groups = groupsByLength.get(anchor.length) ?? new Map<string, string[]>();
    groupsByLength.set(anchor.length, groups);
    const group = groups.get(anchor);
    if (group === undefined) groups.set(anchor, [text]);
    else group.push(text);
  }
  const anchors = [...groupsByLength].sort(([a], [b]) => b - a);

  return (prompt) => {
    let longest: string | undefined;
    for (const [length, groups] of anchors) {
      // A text with a shorter anchor is itself shorter than the one found.
      if (longest !== undefined && longest.length > length) break;
      const found = longestInside(prompt, length, groups);
      if (found !== undefined && found.length > (longest?.length ?? 0)) longest = found;
    }
    return longest;
  };
}

function longestInside(
  prompt: string,
  anchorLength: number,
  groups: ReadonlyMap<string, readonly string[]>,
): string | undefined {
  let longest: string | undefined;
  for (let at = 0; at + anchorLength <= prompt.length; at += 1) {
    const group = groups.get(prompt.slice(at, at + anchorLength));
    const found = group?.find((text) => prompt.startsWith(text, at));
    if (found !== undefined && found.length > (longest?.length ?? 0)) longest = found;
  }
  return longest;
}
