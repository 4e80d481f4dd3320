import { readFields } from '../judge/read-fields.ts';

/**
 * Reads the score in a judge's reply about one criterion: the line `score: 0.8`, or the field `score` of a JSON object.
 * A percentage needs its sign; yes and no are 1 and 0.
 *
 * @returns 0..1; undefined unless there is one, and only one.
 */
export function readScore(reply: string): number | undefined {
  const said = new Set((readFields(reply).get('score') ?? []).map(toScore));
  if (said.size === 0) return scoreOfJson(reply);
  const [score] = said;
  return said.size === 1 ? score : undefined;
}

function toScore(text: string): number | undefined {
  const word = text.toLowerCase().replace(/\.$/, '');
  if (word === 'yes' || word === 'no') return Number(word === 'yes');
  const [, number, percent] = /^(\d{0,3}(?:\.\d{1,20})?)\s?(%?)$/.exec(word) ?? [];
  if (number === undefined || number === '') return undefined;
  const score = Number(number) / (percent === '%' ? 100 : 1);
  return score <= 1 ? score : undefined;
}

/** A reply that is a JSON object, or has one as its only block of code. */
function scoreOfJson(reply: string): number | undefined {
  const text = reply.slice(reply.indexOf('{'), reply.lastIndexOf('}') + 1);
  try {
    const parsed: unknown = JSON.parse(text);
    const score = (parsed as { readonly score?: unknown } | null)?.score;
    return typeof score === 'number' && score >= 0 && score <= 1 ? score : undefined;
  } catch {
    return undefined;
  }
}
