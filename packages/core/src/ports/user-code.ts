import type { Pattern } from '../domain/scorer.ts';

/** How the match of a pattern ended. */
export type PatternMatch =
  /** The match's group `answer`, or else its first group, or else the whole match; trimmed. */
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'none' }
  /** The time limit ended before the match did. */
  | { readonly kind: 'timeout' }
  /** The pattern could not be run on the text, for example for lack of memory. */
  | { readonly kind: 'error' };

/**
 * Runs the patterns that users write, which may take hours on a short text.
 *
 * **Isolation.** A match never blocks the caller's event loop.
 * **Limits.** Matches run one after the other; the time limit of one starts when it does.
 */
export interface UserCode {
  /**
   * Finds the first or last match of a pattern in a text, as the pattern says.
   *
   * @param limitMs - The longest that the match may take, > 0.
   */
  match(pattern: Pattern, text: string, limitMs: number): Promise<PatternMatch>;
}
