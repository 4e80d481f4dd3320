import { describe, expect, it } from 'vitest';
import { StepTally, summarizeSteps } from '../../../packages/core/src/results/step-tally.ts';
import { aCall, aCellRow } from '../../support/builders.ts';

const cheap = aCall({ step: 'member-1', costUsd: 1 });
const strong = aCall({ step: 'escalation', costUsd: 8 });

function tallyOf(...rows: readonly Parameters<StepTally['add']>[0][]): StepTally {
  const tally = new StepTally();
  for (const row of rows) tally.add(row);
  return tally;
}

describe('the steps of a config', () => {
  it('have their calls, their share of the answered cells, and their cost', () => {
    const tally = tallyOf(
      aCellRow({ calls: [cheap] }),
      aCellRow({ calls: [cheap, strong, { ...strong, discarded: 'duplicate' }] }),
      aCellRow({ outcome: 'failed', calls: [cheap] }),
      aCellRow({ outcome: 'not-attempted', calls: [] }),
    );

    expect(summarizeSteps([tally])).toEqual({
      answered: 2,
      steps: [
        { step: 'escalation', calls: 2, cells: 1, share: 0.5, costUsd: 8, wasteUsd: 8 },
        { step: 'member-1', calls: 3, cells: 2, share: 1, costUsd: 3, wasteUsd: 0 },
      ],
    });
  });

  it('share a cell once that two calls of a step answer, as those of a judge who was asked again', () => {
    const tally = tallyOf(aCellRow({ calls: [cheap, cheap] }), aCellRow({ calls: [cheap] }));

    expect(summarizeSteps([tally]).steps).toMatchObject([{ calls: 3, cells: 2, share: 1 }]);
  });

  it('have an unknown cost where that of one call is unknown', () => {
    const tally = tallyOf(aCellRow({ calls: [cheap, { ...cheap, costUsd: null }] }));

    expect(summarizeSteps([tally]).steps).toMatchObject([{ costUsd: null, wasteUsd: 0 }]);
  });

  it('are added over runs, and continue from what was counted', () => {
    const first = tallyOf(aCellRow({ calls: [cheap] }));
    const second = new StepTally(first.state());
    second.add(aCellRow({ calls: [strong] }));

    expect(summarizeSteps([first, second])).toMatchObject({
      answered: 3,
      steps: [
        { step: 'escalation', cells: 1, share: 1 / 3 },
        { step: 'member-1', cells: 2, costUsd: 2 },
      ],
    });
  });

  it('have no share without an answered cell', () => {
    const tally = tallyOf(aCellRow({ outcome: 'failed', calls: [cheap] }));

    expect(summarizeSteps([tally]).steps).toMatchObject([{ calls: 1, cells: 0, share: null }]);
  });
});
