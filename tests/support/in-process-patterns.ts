import type { PatternMatcher } from '@thrice/core';

/** Runs patterns at once, for tests whose patterns are harmless. */
export const inProcessPatterns: PatternMatcher = {
  match: async ({ source, flags }, text) => {
    const match = new RegExp(source, flags).exec(text);
    return match === null ? { kind: 'none' } : { kind: 'found', text: match[1] ?? match[0] };
  },
};
