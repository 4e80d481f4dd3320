import type { GroupCode, UserCode } from '@thrice/core';

/** Runs patterns at once, for tests whose patterns are harmless and which call no file. */
export const inProcessPatterns: UserCode & GroupCode = {
  match: async ({ source, flags, match }, text) => {
    const found = [...text.matchAll(new RegExp(source, `${flags}g`))].at(
      match === 'first' ? 0 : -1,
    );
    if (found === undefined) return { kind: 'none' };
    return { kind: 'found', text: (found.groups?.['answer'] ?? found[1] ?? found[0]).trim() };
  },
  call: async () => {
    throw new Error('expected no call of a file');
  },
};
