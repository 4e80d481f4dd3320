import { type CellRow, type ErrorCode, SummaryBuilder } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { reportUnscored } from '../../../packages/cli/src/render/report-unscored.ts';
import type { Terminal } from '../../../packages/cli/src/shell/terminal.ts';
import { aCellRow, aGroupHeader, anError, aRowWithoutScore } from '../../support/builders.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

/** Reports on a finished group with these rows. */
function report(rows: readonly CellRow[], own: Partial<Terminal> = {}) {
  const header = aGroupHeader();
  const summary = new SummaryBuilder(header, 0.98);
  for (const row of rows) summary.add(row);
  const terminal = fakeTerminal(own);
  const place = { terminal, header, place: '.thrice', flag: ' --dir here' };
  const exitCode = reportUnscored(summary.build(), place);
  return { exitCode, lines: terminal.stderr.split('\n').slice(0, -1) };
}

/** The rows of cells that failed with the same error. */
function failedRows(
  count: number,
  code: ErrorCode,
  { message = `some ${code}`, config = 'direct' } = {},
): readonly CellRow[] {
  const error = { class: anError(code).class, code, message };
  return Array.from({ length: count }, (_, index) =>
    aRowWithoutScore('failed', { config, id: `${code}-${index}`, reason: code, error }),
  );
}

describe('a finished group', () => {
  it('ends with 0 and no word if every cell has a score', () => {
    const scored = Array.from({ length: 9 }, (_, index) =>
      aCellRow({ id: `q${index}`, score: index % 2 }),
    );
    const unparsed = aCellRow({ id: 'q9', outcome: 'unparsed', score: 0, answer: null });

    expect(report([...scored, unparsed])).toEqual({ exitCode: 0, lines: [] });
  });

  it('points to the unparsed answers where they are more than a tenth', () => {
    const rows = [1, 2, 3].map((index) =>
      aCellRow({ id: `q${index}`, outcome: 'unparsed', score: 0, answer: null }),
    );

    expect(report([aCellRow({ config: 'large' }), ...rows])).toEqual({
      exitCode: 0,
      lines: [
        'the scorer could not read 3 of 3 answers of direct: each scores 0',
        'see: thrice show demo --unparsed --dir here',
      ],
    });
  });

  it('points to the wrong answers where all are wrong', () => {
    const rows = Array.from({ length: 10 }, (_, index) => aCellRow({ id: `q${index}`, score: 0 }));

    expect(report([aCellRow({ config: 'large', score: 0 }), ...rows])).toEqual({
      exitCode: 0,
      lines: [
        'the scorer found all 10 of direct wrong: it may look for something else than the prompt asks for',
        'see: thrice show demo --wrong --dir here',
      ],
    });
  });

  it('points to no answers where scores are fractions, none of them 1', () => {
    const rows = Array.from({ length: 10 }, (_, index) =>
      aCellRow({ id: `q${index}`, score: 0.8 }),
    );

    expect(report(rows)).toEqual({ exitCode: 0, lines: [] });
  });

  it.each(['content-filtered', 'context-too-long', 'invalid-request'] as const)(
    'names no command for cells that would only be refused again: %s',
    (code) => {
      const { lines } = report(failedRows(2, code));

      expect(lines.at(-1)).toBe('listed in: .thrice/runs/demo/demo-r1/failures_direct.json');
    },
  );

  it('says how many cells have no score and why, the most frequent reason first, with what to do', () => {
    const { exitCode, lines } = report([
      aCellRow(),
      ...failedRows(2, 'content-filtered', { message: '400 filtered' }),
      ...failedRows(17, 'model-timeout', { message: 'no answer within 120 s' }),
    ]);

    expect(exitCode).toBe(1);
    expect(lines).toEqual([
      '19 of 20 cells have no score:',
      '  17 x model-timeout: no answer within 120 s; raise timeout_s, then thrice resume demo --spec benchmark.toml --dir here',
      '   2 x content-filtered: 400 filtered; nothing to do: it lowers coverage',
      'listed in: .thrice/runs/demo/demo-r1/failures_direct.json',
      'next: thrice rerun demo --failed --dir here',
    ]);
  });

  it('says of which configs the cells are', () => {
    const { lines } = report([
      ...failedRows(1, 'model-unavailable', { config: 'small' }),
      ...failedRows(3, 'model-unavailable', { config: 'large' }),
    ]);

    expect(lines).toContain(
      '  4 x model-unavailable: some model-unavailable (1 of small, 3 of large); try again later',
    );
    expect(lines).toContain('listed in: .thrice/runs/demo/*/failures_*.json');
  });

  it('shows the most frequent text of a code, in one line of 200 characters at most', () => {
    const long = `400 bad\n${'x'.repeat(300)}`;

    const { lines } = report([
      ...failedRows(1, 'invalid-request', { message: 'rare' }),
      ...failedRows(2, 'invalid-request', { message: long }),
    ]);

    expect(lines[1]).toBe(
      `  3 x invalid-request: 400 bad ${'x'.repeat(191)}… and 1 other text; correct the config's parameters or prompt, then thrice run benchmark.toml --dir here`,
    );
  });

  it('tells cells without a grade, without an attempt, and with a last error only', () => {
    const error = { class: 'exhausted', code: 'quota-exhausted', message: '429 no quota' } as const;

    const { exitCode, lines } = report([
      aRowWithoutScore('ungraded', { id: 'q1', reason: 'no-target' }),
      aRowWithoutScore('not-attempted', { id: 'q2' }),
      aRowWithoutScore('not-attempted', { id: 'q3', reason: 'quota-exhausted', error }),
    ]);

    expect(exitCode).toBe(1);
    expect(lines).toEqual([
      '3 of 3 cells have no score:',
      '  1 x no-target; give the question a target, then thrice rescore demo --spec benchmark.toml --dir here',
      '  1 x not attempted',
      '  1 x not attempted, quota-exhausted: 429 no quota; wait for the reset or top up the account, then thrice resume demo --dir here',
      'listed in: .thrice/runs/demo/demo-r1/failures_direct.json',
    ]);
  });

  it('is wrapped on a terminal, but for the command', () => {
    const rows = failedRows(2, 'model-timeout', { message: 'no answer within 120 s' });

    const { lines } = report(rows, { isInteractive: true, columns: 60 });

    expect(lines.slice(1, 4)).toEqual([
      '  2 x model-timeout: no answer within 120 s; raise',
      '  timeout_s, then',
      '      thrice resume demo --spec benchmark.toml --dir here',
    ]);
  });

  it('gives what is copied a line of its own where it does not fit', () => {
    const { lines } = report(failedRows(1, 'unclassified'), { isInteractive: true, columns: 38 });

    expect(lines.slice(-4)).toEqual([
      'listed in:',
      '  .thrice/runs/demo/demo-r1/failures_direct.json',
      'next:',
      '  thrice rerun demo --failed --dir here',
    ]);
  });

  it('says of a single cell that it has no score', () => {
    expect(report(failedRows(1, 'unclassified')).lines[0]).toBe('1 of 1 cell has no score:');
  });
});
