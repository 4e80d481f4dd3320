/** The patterns that users write, run in a thread of their own. */

export { ThreadPatternMatcher } from './thread-pattern-matcher.ts';
