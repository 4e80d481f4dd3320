/**
 * Rejects an empty target, for scorers that look for the target inside an answer or read a part of
 * it: every answer would match, or none.
 *
 * @returns What is expected instead; undefined for a target with text.
 */
export function describeEmptyTarget(target: string): string | undefined {
  return target.trim() === '' ? 'a text, not an empty one' : undefined;
}
