const MARK = 'the answer is ';

/**
 * The answer by BIG-Bench Hard's own rule: the text after the last `the answer is `, if there is one,
 * else all of it; trimmed; one trailing full stop dropped. Compared with `===`.
 *
 * Reproduces all 54 published accuracies of the recorded outputs exactly; dropping the last
 * character always, or keeping the stop, does not.
 *
 * @see Suzgun et al. (2022), arXiv:2210.09261
 */
export function extractBbhAnswer(text: string): string {
  const at = text.lastIndexOf(MARK);
  const tail = (at === -1 ? text : text.slice(at + MARK.length)).trim();
  return tail.endsWith('.') ? tail.slice(0, -1) : tail;
}
