import { readRatio } from '../confidence/read-ratio.ts';
import { readFields } from './read-fields.ts';

/** What a judge says of an answer, in the form that the prompt asks for. */
interface HleVerdict {
  readonly isCorrect: boolean;
  /** The final answer that the judge finds; null if it finds none. */
  readonly extracted: string | null;
  readonly reasoning: string | null;
  /** The confidence that the answer states, 0..1; null if it states none. */
  readonly confidence: number | null;
}

const NONE = /^(?:none|n\/a|null|-)?$/i;

/**
 * Reads a judge's reply: lines of `extracted_answer:`, `reasoning:`, `correct:` and `confidence:`, in any case and
 * markup.
 *
 * @returns Undefined unless there is a `correct:` line, and all of them say the same, yes or no.
 */
export function readVerdict(reply: string): HleVerdict | undefined {
  const fields = readFields(reply);
  const said = new Set((fields.get('correct') ?? []).map(yesOrNo));
  const [isCorrect] = said;
  if (said.size !== 1 || isCorrect === undefined) return undefined;
  const last = (name: string) => {
    const value = fields.get(name)?.at(-1) ?? '';
    return NONE.test(value) ? null : value;
  };
  return {
    isCorrect,
    extracted: last('extracted_answer'),
    reasoning: last('reasoning'),
    confidence: readRatio(last('confidence'), 'percent').confidence,
  };
}

function yesOrNo(text: string): boolean | undefined {
  const word = text.toLowerCase().replace(/["'.]/g, '').trim();
  if (word === 'yes' || word === 'true') return true;
  return word === 'no' || word === 'false' ? false : undefined;
}
