import { describe, expect, it } from 'vitest';
import { ERROR_TABLE } from '../../../packages/models/src/vendors/errors/error-table.ts';

const words = ERROR_TABLE.flatMap((row) => row.words ?? []);
const userCode = ERROR_TABLE.flatMap((row) => [...(row.words ?? []), ...(row.texts ?? [])]).filter(
  (entry) => entry instanceof RegExp,
);

describe('the rows of the error table', () => {
  it('list exact words as bodies are read: in lower case', () => {
    const exact = words.filter((word) => typeof word === 'string');

    expect(exact.filter((word) => word !== word.toLowerCase())).toEqual([]);
  });

  it('have no pattern that remembers where its last match ended', () => {
    expect(userCode.filter(({ global, sticky }) => global || sticky)).toEqual([]);
  });
});
