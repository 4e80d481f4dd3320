import type { Pattern, UserFile } from '../domain/scorer.ts';

/** How the match of a pattern ended. */
export type PatternMatch =
  /** The match's group `answer`, or else its first group, or else the whole match; trimmed. */
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'none' }
  /** The time limit ended before the match did. */
  | { readonly kind: 'timeout' }
  /** The pattern could not be run on the text, for example for lack of memory. */
  | { readonly kind: 'error' };

/** How the call of a function of a user ended. */
export type UserCall =
  /** `value`: what it returned, as JSON holds it. */
  | { readonly kind: 'returned'; readonly value: unknown }
  | {
      /** It threw; it returned what is no JSON, or too much of it; its process ended, or could not load it. */
      readonly kind: 'threw' | 'unusable' | 'crashed';
      /** What happened, with the stack where there is one. */
      readonly message: string;
    }
  /** The time limit ended before the call did. */
  | { readonly kind: 'timeout' };

/** The call of a function of a file. */
export interface UserCallRequest {
  readonly file: UserFile;
  /** The spec that names the file: what the file imports that is not in the plan is looked for from there. */
  readonly specPath: string;
  readonly method: string;
  readonly input: unknown;
  /** The longest that the call may take, > 0. */
  readonly limitMs: number;
}

/**
 * Runs what users write: patterns, which may take hours on a short text, and files, which may do anything.
 *
 * **Isolation.** Nothing of it blocks the caller's event loop, ends its process, or sees its keys.
 * **Limits.** Matches run one after the other, and so do the calls of one file; the time limit of each starts when it does.
 */
export interface UserCode {
  /**
   * Finds the first or last match of a pattern in a text, as the pattern says.
   *
   * @param limitMs - The longest that the match may take, > 0.
   */
  match(pattern: Pattern, text: string, limitMs: number): Promise<PatternMatch>;
  /** Calls a function of a file. It is called again if another call ends its process meanwhile. */
  call(request: UserCallRequest): Promise<UserCall>;
}
