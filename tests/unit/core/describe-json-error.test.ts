import { describeJsonError } from '@thrice/core';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

function problemOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return describeJsonError(error, text);
  }
}

describe('describeJsonError', () => {
  it.each([
    ['', 'column 1: Unexpected end of JSON input'],
    ['{"a": tru', 'column 10: Unexpected end of JSON input'],
    ['{"a": trux}', "column 10: Unexpected token 'x'"],
    [
      '{"a": 1 "b"}',
      "column 9: Expected ',' or '}' after property value; a comma stands between two entries",
    ],
    [
      '{a: 1}',
      "column 2: Expected property name or '}'; names stand between double quotation marks",
    ],
    ['"abc', 'column 5: Unterminated string'],
    ['[1]]', 'column 4: Unexpected non-whitespace character after JSON'],
    ['[\n1,\n]\n', "line 3, column 1: Unexpected token ']'; no comma stands after the last entry"],
    ['[\n{"a": 1},\n{"a": oops}\n]', "line 3, column 7: Unexpected token 'o'"],
    [
      '{\n  "a": 1,\n}',
      'line 3, column 1: Expected double-quoted property name; no comma stands after the last entry',
    ],
    ['{"a": nul\n}', 'line 1, column 10: Unexpected line end'],
  ])('%j: %s', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  it('gives one line with a position inside the text, for any damage', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string(), (json, cut, inserted) => {
        const at = cut % (json.length + 1);
        const text = json.slice(0, at) + inserted + json.slice(at + 1);

        const problem = problemOf(text) ?? 'column 1: none';

        const [, line = '1', column] =
          /^(?:line (\d+), )?column (\d+): [^\n]+$/.exec(problem) ?? [];
        const lines = text.split('\n');
        expect(Number(line)).toBeLessThanOrEqual(lines.length);
        expect(Number(column)).toBeLessThanOrEqual((lines[Number(line) - 1] ?? '').length + 1);
      }),
    );
  });
});
