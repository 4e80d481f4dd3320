import { type CellRow, SummaryBuilder } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { reportUnscored } from '../../../packages/cli/src/render/report-unscored.ts';
import { aCellRow, aGroupHeader, aRowWithoutScore } from '../../support/builders.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

/** Reports on a finished group with these rows. */
function report(rows: readonly CellRow[]) {
  const header = aGroupHeader();
  const summary = new SummaryBuilder(header, 0.98);
  for (const row of rows) summary.add(row);
  const terminal = fakeTerminal();
  const place = { terminal, header, place: '.thrice', flag: '' };
  const exitCode = reportUnscored(summary.build(), place);
  return { exitCode, text: terminal.stderr };
}

const file = '.thrice/runs/demo/demo-r1/failures_direct.json';

describe('a finished group', () => {
  it('ends with 0 and no word if every cell has a score', () => {
    const right = aCellRow();
    const wrong = aCellRow({ id: 'q2', score: 0 });
    const unparsed = aCellRow({ id: 'q3', outcome: 'unparsed', score: 0, answer: null });

    expect(report([right, wrong, unparsed])).toEqual({ exitCode: 0, text: '' });
  });

  it.each(['ungraded', 'failed', 'not-attempted'] as const)(
    'ends with 1 and names the file if a cell is %s',
    (outcome) => {
      const { exitCode, text } = report([aCellRow(), aRowWithoutScore(outcome, { id: 'q2' })]);

      expect(exitCode).toBe(1);
      expect(text).toContain(`1 cell of direct without a score: ${file}\n`);
    },
  );
});
