import { describe, expect, it } from 'vitest';
import { ERROR_TABLE } from '../../../packages/models/src/vendors/errors/error-table.ts';

const words = ERROR_TABLE.flatMap((row) => row.words ?? []);
const patterns = ERROR_TABLE.flatMap((row) => [...(row.words ?? []), ...(row.texts ?? [])]).filter(
  (entry) => entry instanceof RegExp,
);

describe('the rows of the error table', () => {
  it('list exact words as bodies are read: in lower case', () => {
    const exact = words.filter((word) => typeof word === 'string');

    expect(exact.length).toBeGreaterThan(100);
    expect(exact.filter((word) => word !== word.toLowerCase())).toEqual([]);
  });

  it('list one phrase per entry', () => {
    const alternations = patterns.filter(({ source }) =>
      source.replace(/\([^()]*\)/g, '').includes('|'),
    );

    expect(patterns.length).toBeGreaterThan(100);
    expect(alternations).toEqual([]);
  });

  it('have no pattern that remembers where its last match ended', () => {
    expect(patterns.filter(({ global, sticky }) => global || sticky)).toEqual([]);
  });

  it('list no entry twice in a row', () => {
    const twice = ERROR_TABLE.flatMap((row) => {
      const entries = [...(row.words ?? []), ...(row.texts ?? [])].map(String);
      return entries.filter((entry, index) => entries.indexOf(entry) !== index);
    });

    expect(twice).toEqual([]);
  });
});
