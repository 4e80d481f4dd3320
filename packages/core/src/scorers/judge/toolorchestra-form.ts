import { scored, unparsed } from '../../domain/grade.ts';
import { stripReasoning } from '../strip-reasoning.ts';
import { trimWhere } from '../trim-where.ts';
import { type JudgeForm, majorityOf } from './judge-form.ts';

/** The most pieces, split on single spaces, of an answer that a judge is asked about. */
const MAX_PIECES = 500;

/** Up to the instruction as ToolOrchestra sends it. */
const PROMPT = `Question: {{asked}}

Student answer: {{answer}}

Reference answer: {{target}}

Take the reference answer as right, and do not solve the question yourself. Does the student answer say the same? Reply with <correct>True</correct> or <correct>False</correct>.`;

/**
 * The form of ToolOrchestra: `<correct>True</correct>` or `<correct>False</correct>`.
 *
 * Its own reading takes anything but `true` for False. The score is that of a tolerant reading, for which a reply that says
 * neither is no verdict. Both are metrics, and so is whether they differ. Its prompts, also those of a user, place texts as its authors do, bare.
 *
 * @see https://github.com/NVlabs/ToolOrchestra (evaluation)
 */
export const toolOrchestraForm: JudgeForm = {
  prompt: PROMPT,
  place: (_, text) => text,
  readResponse: (text) => stripPython(taggedText(text, 'answer')),
  gradeUnasked: (response, { target }) => {
    if (response === '') return { ...unparsed('empty'), metrics: metricsOf(false, false) };
    if (response.split(' ').length > MAX_PIECES)
      return { ...scored(0, response), metrics: metricsOf(false, false) };
    const isEqual = (target ?? []).some(
      (accepted) => stripPython(accepted).toLowerCase() === response.toLowerCase(),
    );
    return isEqual ? { ...scored(1, response), metrics: metricsOf(true, true) } : undefined;
  },
  readReply: (reply, response) => {
    const isCorrect = readTolerantly(reply);
    return isCorrect === undefined ? undefined : { isCorrect, extracted: response };
  },
  metrics: {
    declared: [
      { name: 'parityCorrect', unit: 'ratio', better: 'higher', range: [0, 1] },
      { name: 'tolerantCorrect', unit: 'ratio', better: 'higher', range: [0, 1] },
      { name: 'parseDiffers', unit: 'ratio', better: 'lower', range: [0, 1] },
    ],
    of: (replies, isCorrect) => metricsOf(majorityOf(replies.map(readInParity)), isCorrect),
  },
};

function metricsOf(parity: boolean | undefined, tolerant: boolean | undefined) {
  const isKnown = parity !== undefined && tolerant !== undefined;
  return {
    parityCorrect: toFigure(parity),
    tolerantCorrect: toFigure(tolerant),
    parseDiffers: isKnown ? Number(parity !== tolerant) : null,
  };
}

function toFigure(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value);
}

/** Reads a reply as ToolOrchestra does: exactly `true` between the last tags, in any case. */
function readInParity(reply: string): boolean {
  return taggedText(reply, 'correct').toLowerCase() === 'true';
}

/** Reads a reply with blanks, markup and a period around its word, and tags in any case. */
function readTolerantly(reply: string): boolean | undefined {
  const text = stripReasoning(reply).replace(/<(\/?)correct>/gi, '<$1correct>');
  const word = trimWhere(taggedText(text, 'correct'), (each) => /[\s*_`"'.]/.test(each));
  if (word.toLowerCase() === 'true') return true;
  return word.toLowerCase() === 'false' ? false : undefined;
}

/** What follows the last opening tag, up to the next closing one; the whole text without a tag. */
function taggedText(text: string, tag: string): string {
  const [content = ''] = (text.split(`<${tag}>`).at(-1) ?? '').split(`</${tag}>`);
  return content;
}

/** Trims as Python's `strip` does: control characters that separate are blanks, the byte order mark is none. */
function stripPython(text: string): string {
  return trimWhere(
    text,
    (each) =>
      (/\s/.test(each) && each !== '\uFEFF') ||
      (each >= '\x1C' && each <= '\x1F') ||
      each === '\x85',
  );
}
