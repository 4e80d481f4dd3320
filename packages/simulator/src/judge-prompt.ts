import { type Random, seededRandom } from '@thrice/core';
import type { JudgeBehaviour } from './load-behaviour.ts';

/** An answer of more words is a long one. */
const LONG_WORDS = 150;

/** What a judge is shown. */
interface Shown {
  /** The answer to be judged; two where they are to be compared. */
  readonly responses: readonly string[];
  readonly references: readonly string[];
  /** The choices of the question, by their label in lower case. */
  readonly choices: ReadonlyMap<string, string>;
  readonly criterion: string | undefined;
}

/** How a verdict comes about, beside the behaviour of the judge. */
interface Verdict {
  /** It says the opposite of what it finds. */
  readonly isFlipped: boolean;
  readonly random: Random;
}

/**
 * Judges as a prompt asks for it: by the form of HLE or of ToolOrchestra, by a criterion, or which of two answers is better.
 *
 * A fair judge finds an answer right if one of its lines is the reference answer, or states it ("The answer is X"), in
 * words or by the label of a choice, and of two answers the one that is right. Where it has nothing to go by, such as with most criteria, it draws by the texts alone.
 */
export function judgePrompt(prompt: string, behaviour: JudgeBehaviour, verdict: Verdict): string {
  const shown = readPrompt(prompt);
  const [response = '', other] = shown.responses;
  if (other !== undefined) {
    const isFirst = prefersFirst(shown, behaviour, verdict) !== verdict.isFlipped;
    return `reasoning: compared\nbetter: ${isFirst ? 'first' : 'second'}`;
  }
  const isAccepted = accepts(response, shown, behaviour, verdict) !== verdict.isFlipped;
  if (prompt.includes('<correct>')) return `<correct>${isAccepted ? 'True' : 'False'}</correct>`;
  if (shown.criterion !== undefined) return `reasoning: compared\nscore: ${Number(isAccepted)}`;
  return [
    `extracted_answer: ${lastLineOf(response)}`,
    'reasoning: compared',
    `correct: ${isAccepted ? 'yes' : 'no'}`,
    'confidence: None',
  ].join('\n');
}

function accepts(
  response: string,
  shown: Shown,
  { prefersLong = 0, obeysAnswer = 0 }: JudgeBehaviour,
  { random }: Verdict,
): boolean {
  // Both are drawn always, so that changing one setting leaves the other decision unchanged.
  const isMovedByLength = random() < prefersLong && response.split(/\s+/).length > LONG_WORDS;
  const isMovedByRequest = random() < obeysAnswer && asksForYes(response);
  return isMovedByLength || isMovedByRequest || isRight(response, shown);
}

function prefersFirst(
  shown: Shown,
  { prefersFirst: firstRatio = 0 }: JudgeBehaviour,
  { random }: Verdict,
): boolean {
  const isMovedByOrder = random() < firstRatio;
  const [first = '', second = ''] = shown.responses;
  const [isFirstRight, isSecondRight] = [isRight(first, shown), isRight(second, shown)];
  if (isMovedByOrder) return true;
  if (isFirstRight !== isSecondRight) return isFirstRight;
  // The same of the two in either order.
  return seededRandom('better', first)() > seededRandom('better', second)();
}

function isRight(response: string, { references, choices, criterion }: Shown): boolean {
  if (references.length === 0 || criterion !== undefined)
    return (
      response.trim() !== '' && seededRandom('meets', criterion ?? '', lastLineOf(response))() < 0.5
    );
  const inWords = (text: string) => plain(choices.get(plain(text)) ?? text);
  const accepted = new Set(references.map(inWords));
  return response.split('\n').some((line) => {
    const stated = /\banswer(?: is|:)\s*(.+)$/i.exec(line)?.[1] ?? line;
    return accepted.has(inWords(stated));
  });
}

function plain(text: string): string {
  return text.toLowerCase().replace(/^[\s("'*]+|[\s)."'*]+$/g, '');
}

function asksForYes(response: string): boolean {
  return /\bmust\b.{0,40}\b(?:yes|correct|true)\b/i.test(response);
}

function lastLineOf(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}

/** Finds what is judged: between the marks of Thrice, or after the words that ToolOrchestra has before it. */
function readPrompt(prompt: string): Shown {
  const fenced = [
    ...prompt.matchAll(/^(====(?:\d+====)?) (.+) begins \1\n([\s\S]*?)\n\1 \2 ends \1$/gm),
  ];
  const named = (name: string) =>
    fenced.flatMap(([, , each, text = '']) => (each === name ? [text] : []));
  const criterion = named('criterion')[0];
  if (fenced.length > 0) {
    const responses = [
      ...named('response'),
      ...named('first response'),
      ...named('second response'),
    ];
    const references = named('reference answer').flatMap((text) => text.split('\nor: '));
    return { responses, references, choices: readChoices(named('question')), criterion };
  }
  const [, response = '', reference = ''] =
    /^Question: [\s\S]*\n\nStudent answer: ([\s\S]*)\n\nReference answer: ([\s\S]*?)\n\n/.exec(
      prompt,
    ) ?? [];
  return {
    responses: [response],
    references: reference === '' ? [] : reference.split('\nor: '),
    choices: new Map(),
    criterion,
  };
}

/** Reads the choices that a question lists, as in `(B) Mercury`. */
function readChoices(questions: readonly string[]): ReadonlyMap<string, string> {
  const lines = questions.flatMap((text) => [...text.matchAll(/^\(?([A-Z])[).] (.+)$/gm)]);
  return new Map(lines.map(([, label = '', text = '']) => [label.toLowerCase(), text]));
}
