import { describe, expect, it } from 'vitest';
import { cancelBatches } from '../../../packages/cli/src/local/cancel-batches.ts';
import { additions } from '../../support/additions.ts';
import { BatchedGroup } from '../../support/batched-group.ts';
import { aConfig, aLane, anError } from '../../support/builders.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

const cellCount = 20;

async function cellsOf({ engine, header }: BatchedGroup) {
  const ids = additions(cellCount).map(({ id }) => id);
  const cells = await engine.ledger.readCells(header.runs[0] ?? '', 'direct', ids);
  expect(cells.size).toBe(cellCount);
  return [...cells.values()];
}

describe('cells in batches', () => {
  it('go to the next batch as often as theirs expires, which is no attempt', async () => {
    await using group = await BatchedGroup.open({
      cellCount,
      batches: { seconds: 8, expiryRate: 0.5 },
    });

    const ending = await group.work();
    const cells = await cellsOf(group);

    expect(ending).toEqual({ kind: 'complete' });
    expect(group.submittedCount).toBeGreaterThan(2);
    expect(group.billed.calls).toBe(cellCount);
    expect(cells.map(({ result }) => [result?.outcome, result?.attempts])).toEqual(
      cells.map(() => ['scored', 1]),
    );
  });

  it('are called live where their batch expires, if the spec says so, for the live price', async () => {
    await using group = await BatchedGroup.open({
      cellCount,
      batches: { seconds: 8, expiryRate: 0.5 },
      lane: { batch: { otherwise: 'live' } },
    });

    const ending = await group.work();
    const cells = await cellsOf(group);

    const paid = cells.map(({ result }) => {
      const { serviceTier, costUsd } = result?.calls[0] ?? {};
      return `${serviceTier ?? 'live'} for ${costUsd}`;
    });
    expect(ending).toEqual({ kind: 'complete' });
    expect(group.submittedCount).toBe(1);
    expect(group.billed.calls).toBe(cellCount);
    expect(new Set(paid)).toEqual(new Set(['batch for 0.003', 'live for 0.006']));
  });

  it('that a batch refuses have used an attempt, and are in the next one', async () => {
    await using group = await BatchedGroup.open({
      cellCount,
      batches: { seconds: 8, errorRate: 0.25 },
      benchmark: () => ({ maxAttempts: 20 }),
    });

    const ending = await group.work();
    const cells = await cellsOf(group);

    const attempts = cells.map(({ result }) => result?.attempts ?? 0);
    const logged = cells.flatMap(({ attemptLog }) => attemptLog.map(({ error }) => error.code));
    expect(ending).toEqual({ kind: 'complete' });
    expect(group.billed.calls).toBe(cellCount);
    expect(group.submittedCount).toBe(Math.max(...attempts));
    expect(attempts.reduce((sum, count) => sum + count, 0)).toBe(cellCount + logged.length);
    expect(new Set(logged)).toEqual(new Set(['model-unavailable']));
  });

  it('of a batch that the vendor refuses as a whole have failed for its reason', async () => {
    await using group = await BatchedGroup.open({
      cellCount,
      batches: { seconds: 8, refusedCount: 1 },
    });

    const ending = await group.work();
    const cells = await cellsOf(group);

    expect(ending).toEqual({ kind: 'complete' });
    expect(group.billed.calls).toBe(0);
    expect(cells.map(({ result }) => result?.error?.code)).toEqual(
      cells.map(() => 'invalid-request'),
    );
  });

  it('stop with their group, whose resume reads what was answered until then', async () => {
    await using group = await BatchedGroup.open({ cellCount, batches: { seconds: 100 } });
    const { ledger } = group.engine;
    const { group: name } = group.header;
    void group.clock.sleep(50_000).then(() => ledger.setGroupState(name, 'cancelled'));

    const first = await group.work();
    const billedAtCancel = group.billed.calls;
    await ledger.setGroupState(name, 'active');
    const second = await group.work();

    expect([first, second]).toEqual([{ kind: 'cancelled' }, { kind: 'complete' }]);
    expect(billedAtCancel).toBeGreaterThan(0);
    expect(billedAtCancel).toBeLessThan(cellCount);
    expect(group.submittedCount).toBe(2);
    expect(group.billed.calls).toBe(cellCount);
  });

  it('keep within a budget that covers only some of them at a time, at the price of batches', async () => {
    await using group = await BatchedGroup.open({
      cellCount,
      batches: { seconds: 8 },
      benchmark: () => ({ budgetUsd: 2, configs: [aConfig({ maxTokens: 10 })] }),
    });

    const ending = await group.work();
    const [account] = await group.engine.budgets.readAccounts(group.header.group);

    expect(ending).toEqual({ kind: 'complete' });
    expect(group.submittedCount).toBeGreaterThan(1);
    expect(group.billed.calls).toBe(cellCount);
    expect(account?.reservedNanoUsd).toBe(0);
    expect((account?.spentNanoUsd ?? 0) / 1e9).toBeCloseTo(group.livePriceUsd / 2, 6);
  });

  it('are sent although live calls wait for the budget that is reserved for them', async () => {
    await using group = await BatchedGroup.open({
      cellCount,
      batches: { seconds: 8 },
      // The batched config leaves the live one no room, until its batch has ended.
      benchmark: (url) => ({
        budgetUsd: 2,
        lanes: new Map([
          ['lab', aLane({ endpoints: [url], batch: { otherwise: 'batch' } })],
          ['live', aLane({ name: 'live', endpoints: [url] })],
        ]),
        prices: new Map(
          ['lab/m', 'live/m'].map((model) => [model, { input: 1_000, output: 2_000, batch: 0.5 }]),
        ),
        configs: [
          aConfig({ maxTokens: 10 }),
          aConfig({ name: 'live', lane: 'live', maxTokens: 10, system: 'live' }),
        ],
      }),
    });

    const ending = await group.work();

    expect(ending).toEqual({ kind: 'complete' });
    expect(group.billed.calls).toBe(2 * cellCount);
  });

  it('of a group without a process are stopped by the command that cancels it', async () => {
    await using group = await BatchedGroup.open({ cellCount, batches: { seconds: 100 } });
    const { engine, benchmark, header } = group;
    await group.work({ afterCalls: 5, isLastCallStored: true, counted: new Set(['poll']) });
    const loaded = { header, benchmark, state: 'cancelled', isPlanned: true } as const;

    await cancelBatches(loaded, engine, fakeTerminal());
    group.clock.advance(100_000);
    const billedAtCancel = group.billed.calls;
    const ending = await group.work();

    expect(billedAtCancel).toBeGreaterThan(0);
    expect(billedAtCancel).toBeLessThan(cellCount);
    expect(ending).toEqual({ kind: 'complete' });
    expect(group.billed.calls).toBe(cellCount);
  });

  it.each([
    ['nothing to connect to', anError('connection-failed', { isUnsent: true }), []],
    ['a server error', anError('model-unavailable', { status: 503 }), []],
    [
      'too many requests',
      anError('model-rate-limited', { status: 429, retryAfterMs: 7_000 }),
      ['model-rate-limited'],
    ],
  ])(
    'wait for a server that answers their batch with %s, which is no attempt',
    async (_, refusal, told) => {
      await using group = await BatchedGroup.open({ cellCount, batches: { seconds: 8 } });
      group.refusals.push(...Array.from({ length: 6 }, () => refusal));
      const postponed = new Set<string>();

      const ending = await group.work(undefined, {
        observe: (event) => {
          if (event.kind === 'batch-postponed') postponed.add(event.error.code);
        },
      });
      const cells = await cellsOf(group);

      expect(ending).toEqual({ kind: 'complete' });
      expect(group.submittedCount).toBe(1);
      expect(group.billed.calls).toBe(cellCount);
      expect([...postponed]).toEqual(told);
      expect(cells.map(({ result, attemptLog }) => [result?.attempts, attemptLog])).toEqual(
        cells.map(() => [1, []]),
      );
      expect(await group.engine.ledger.listOpenBreakers()).toEqual([]);
    },
  );

  it('whose server stays down pause their group, whose resume sends the same batch', async () => {
    await using group = await BatchedGroup.open({ cellCount, batches: { seconds: 8 } });
    const down = anError('connection-failed', { isUnsent: true });
    group.refusals.push(...Array.from({ length: 100 }, () => down));

    const first = await group.work();
    group.refusals.length = 0;
    const second = await group.work(undefined, { halfOpen: new Set(['lab']) });

    expect([first, second]).toMatchObject([{ kind: 'paused' }, { kind: 'complete' }]);
    expect(group.submittedCount).toBe(1);
    expect(group.billed.calls).toBe(cellCount);
  });

  it('wait for a lane that refuses their batch, and the next one that it accepts opens it again', async () => {
    await using group = await BatchedGroup.open({ cellCount, batches: { seconds: 8 } });
    group.refusals.push(anError('quota-exhausted', { status: 429 }));

    const first = await group.work();
    const { ledger } = group.engine;
    const open = await ledger.listOpenBreakers();
    let openWhileItTakes: readonly unknown[] | undefined;
    const look = async () => {
      // Long before its results are there.
      await group.clock.sleep(3_000);
      openWhileItTakes = await ledger.listOpenBreakers();
    };
    const second = await group.work(undefined, {
      halfOpen: new Set(['lab']),
      observe: ({ kind }) => {
        if (kind === 'batch-accepted') void look();
      },
    });

    expect([first, second]).toMatchObject([{ kind: 'paused' }, { kind: 'complete' }]);
    expect(open.map(({ breakerKey }) => breakerKey)).toEqual(['lab']);
    expect(openWhileItTakes).toEqual([]);
    expect(group.billed.calls).toBe(cellCount);
  });
});
