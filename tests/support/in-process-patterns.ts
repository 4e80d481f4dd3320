import type { UserCode } from '@thrice/core';

/** Runs patterns at once, for tests whose patterns are harmless. */
export const inProcessPatterns: UserCode = {
  match: async ({ source, flags, match }, text) => {
    const found = [...text.matchAll(new RegExp(source, `${flags}g`))].at(
      match === 'first' ? 0 : -1,
    );
    if (found === undefined) return { kind: 'none' };
    return { kind: 'found', text: (found.groups?.['answer'] ?? found[1] ?? found[0]).trim() };
  },
};
