import { type CellResult, type Ledger, readRows, type Tally } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReplicateTally } from '../../../packages/core/src/results/replicate-tally.ts';
import { TallyCounter } from '../../../packages/core/src/results/tally-counter.ts';
import {
  aCall,
  aCellKey,
  aCellResult,
  aCellRow,
  aConfig,
  aFailedResult,
  aGroupHeader,
  aQuestion,
  aRowWithoutScore,
  aTally,
} from '../../support/builders.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { openLocalStores } from '../../support/local-stores.ts';

describe('a recounted tally', () => {
  it('exists for every run and config that has a row, whatever its outcome', () => {
    const counter = new TallyCounter();

    counter.add(aCellRow());
    counter.add(aRowWithoutScore('not-attempted', { config: 'other', attempts: 3 }));
    counter.add(
      aCellRow({ run: 'demo-r2', score: 0.5, attempts: 3, calls: [aCall({ costUsd: 0.25 })] }),
    );

    const nothing = { scored: 0, unparsed: 0, ungraded: 0, failed: 0 };
    expect(counter.tallies()).toEqual([
      aTally({ unpricedCalls: 1 }),
      aTally({ config: 'other', counts: nothing, correct: 0 }),
      aTally({ run: 'demo-r2', correct: 0, retries: 2, costUsd: 0.25 }),
    ]);
  });

  it('has the cost of discarded calls, of cells without a result as well', () => {
    const counter = new TallyCounter();

    const waste = (costUsd: number | null) => aCall({ costUsd, discarded: 'duplicate' });
    counter.add(aCellRow({ calls: [aCall({ costUsd: 1 }), waste(0.5), waste(null)] }));
    counter.add(aRowWithoutScore('not-attempted', { id: 'q2', calls: [waste(0.25)] }));

    const spent = { costUsd: 1.75, wasteUsd: 0.75, overheadUsd: 0, unpricedCalls: 1 };
    expect(counter.tallies()).toMatchObject([spent]);
  });

  it('has the cost of calls that grade apart', () => {
    const counter = new TallyCounter();

    const judge = aCall({ purpose: 'grading', costUsd: 0.25 });
    counter.add(aCellRow({ calls: [aCall({ costUsd: 1 }), judge] }));

    expect(counter.tallies()).toMatchObject([{ costUsd: 1.25, wasteUsd: 0, overheadUsd: 0.25 }]);
  });

  it('spends what the summary of the same rows does', () => {
    const aPaidCall = fc.record({
      purpose: fc.constantFrom('answering' as const, 'grading' as const, 'probing' as const),
      discarded: fc.constantFrom(null, 'duplicate' as const),
      // Sums of these costs are exact in any order.
      costUsd: fc.constantFrom(null, 0, 0.25, 0.5, 3),
    });
    const callLists = fc.array(fc.array(aPaidCall, { maxLength: 4 }), { minLength: 1 });
    fc.assert(
      fc.property(callLists, (lists) => {
        const counter = new TallyCounter();
        const replicate = new ReplicateTally('demo-r1');
        for (const [index, calls] of lists.entries()) {
          const row = aCellRow({ id: `q${index}`, calls: calls.map((call) => aCall(call)) });
          counter.add(row);
          replicate.add(row);
        }

        const { knownSpendUsd: costUsd, unpricedCalls, ...parts } = replicate.summarize(0);
        const [tally] = counter.tallies();
        expect(tally).toMatchObject({ costUsd, unpricedCalls });
        if (parts.wasteUsd !== null) expect(tally?.wasteUsd).toBe(parts.wasteUsd);
        if (parts.overheadUsd !== null) expect(tally?.overheadUsd).toBe(parts.overheadUsd);
      }),
      { numRuns: 60 },
    );
  });

  it('does not exist without a row', () => {
    expect(new TallyCounter().tallies()).toEqual([]);
  });

  it('distinguishes runs and configs whose concatenated names are equal', () => {
    const counter = new TallyCounter();

    counter.add(aCellRow({ run: 'a b', config: 'c' }));
    counter.add(aCellRow({ run: 'a', config: 'b c' }));

    expect(counter.tallies()).toEqual([
      aTally({ run: 'a b', config: 'c', unpricedCalls: 1 }),
      aTally({ run: 'a', config: 'b c', unpricedCalls: 1 }),
    ]);
  });

  it('equals the tally that the ledger kept', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(aCompletion, { maxLength: 30 }), async (completions) => {
        const clock = new FakeClock();
        using stores = openLocalStores(':memory:', clock);
        for (const ledger of [stores.ledger, new FakeLedger(clock)]) {
          for (const completion of completions) await complete(ledger, completion);

          const counted = await countRows(ledger);

          expect(counted.filter(isFilled)).toEqual(await tallied(ledger));
          expect(counted.map(({ run, config }) => `${run} ${config}`)).toEqual(
            runs.flatMap((run) => configs.map((config) => `${run} ${config}`)),
          );
        }
      }),
      { numRuns: 60 },
    );
  });
});

const runs = ['demo-r1', 'demo-r2'];
const configs = ['a', 'b'];
const ids = ['q1', 'q2', 'q3'];
const key = 'questions/abc.jsonl';

/** Generates a result for a cell; a failed one may be followed by another. */
const aCompletion = fc.record({
  run: fc.constantFrom(...runs),
  config: fc.constantFrom(...configs),
  id: fc.constantFrom(...ids),
  outcome: fc.constantFrom(
    'scored' as const,
    'unparsed' as const,
    'ungraded' as const,
    'failed' as const,
  ),
  score: fc.constantFrom(0, 0.5, 1),
  attempts: fc.integer({ min: 0, max: 5 }),
  // Sums of these costs are exact in any order.
  costUsd: fc.constantFrom(null, 0.25, 0.5, 3),
});
type Completion = typeof aCompletion extends fc.Arbitrary<infer Value> ? Value : never;

async function complete(ledger: Ledger, completion: Completion): Promise<void> {
  const { run, config, id, outcome, score, costUsd, attempts } = completion;
  const rest = { costUsd, attempts, calls: [aCall({ costUsd })] };
  const cell = aCellKey({ run, config, id });
  const generation = (await ledger.readCells(run, config, [id])).get(id)?.generation ?? -1;
  const claim = await ledger.claimCell(cell, generation + 1, 'ann');
  if (claim.kind !== 'claimed') return;
  const isGraded = outcome === 'scored' || outcome === 'unparsed';
  const result: CellResult = isGraded
    ? aCellResult({ outcome, score: outcome === 'scored' ? score : 0, ...rest })
    : aFailedResult({ outcome, ...rest });
  await ledger.completeCell(cell, 'ann', result, []);
}

async function countRows(ledger: Ledger): Promise<readonly Tally[]> {
  const blobs = new FakeBlobStore();
  const questions = { key, sha256: 'c'.repeat(64), count: ids.length };
  const header = aGroupHeader({ questions, runs });
  blobs.texts.set(key, ids.map((id) => `${JSON.stringify(aQuestion({ id }))}\n`).join(''));
  const counter = new TallyCounter();
  for (const run of runs) {
    for (const name of configs) {
      const rows = readRows(header, run, aConfig({ name }), {
        ledger,
        blobs,
        userCode: inProcessPatterns,
      });
      for await (const row of rows) counter.add(row);
    }
  }
  return counter.tallies();
}

async function tallied(ledger: Ledger): Promise<readonly Tally[]> {
  const tallies = (await Promise.all(runs.map((run) => ledger.readTallies(run)))).flat();
  const nameOf = ({ run, config }: Tally) => `${run} ${config}`;
  return tallies
    .filter(isFilled)
    .toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

function isFilled({ counts }: Tally): boolean {
  return Object.values(counts).some((count) => count > 0);
}
