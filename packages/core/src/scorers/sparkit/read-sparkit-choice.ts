const TAG = /<answer>\s*([a-z])\s*<\/answer>/iu;
const LEADING = /^\s*([a-z])(?:[)\].:\s]|$)/iu;

/**
 * Reads the choice that SPARKIT's strict rubric takes an answer for, faults included: the first `<answer>` tag around a
 * single letter, or else a letter that the text begins with, be it the article "A".
 *
 * @returns A letter in upper case; undefined where SPARKIT finds none.
 * @see https://github.com/JLSteenwyk/sparkit, services/eval_service/app/rubric.py (commit bb8af9f)
 */
export function readSparkitChoice(text: string): string | undefined {
  return (TAG.exec(text) ?? LEADING.exec(text))?.[1]?.toUpperCase();
}
