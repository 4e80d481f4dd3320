import { type DispatchRequest, dispatchTasks, limits, type ResponseCache } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey, aJournalEntry, anEditedHeader, anError } from '../../support/builders.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { Steps } from '../../support/steps.ts';
import { workPartOptions } from '../../support/work-part-options.ts';

const plan: DispatchRequest = { v: 1, group: 'demo', kind: 'plan' };
const MOST_PARTS = 20;
const ids = ['q1', 'q2', 'q3'];

/** A stage where a group has bought its calls, and another reuses them that is not planned yet. */
async function aStage({ sharesCalls = false, recorded = ids } = {}): Promise<FakeStage> {
  const stage = new FakeStage();
  await stage.enter({ group: 'first', ids: recorded });
  await stage.complete(recorded, { run: 'first-r1' });
  await stage.enter({ ids, reuse: ['first'], isPlanned: false, sharesCalls });
  return stage;
}

/** Serves dispatch requests, each for one page, and answers tasks until nothing is left. */
async function workAll(stage: FakeStage, steps = new Steps()): Promise<void> {
  const stores = watch(stage, steps);
  for (let part = 0; stage.requests.countPending('tasks') > 0; part += 1) {
    if (part === MOST_PARTS) throw new Error('expected the parts to come to an end');
    await stage.requests.serveNext('tasks', async (request, delivery) => {
      if (!('kind' in request)) return;
      await dispatchTasks(request, { ...aPage(), ...delivery }, stores);
    });
  }
  await answerAll(stage);
}

async function answerAll(stage: FakeStage): Promise<void> {
  for (const delivery of await stage.queue.receive('lab', 10_000)) {
    await stage.answer(delivery);
    await stage.queue.acknowledge(delivery);
  }
}

/** A part of one page. */
function aPage() {
  return workPartOptions({ isOutOfTime: () => true });
}

function watch(stage: FakeStage, steps: Steps) {
  const {
    ledger,
    responseCache,
    blobs,
    queue,
    requests,
    workLeases,
    clock,
    budgets,
    activeGroups,
  } = stage;
  return {
    ledger: steps.watch('ledger', ledger),
    responseCache: steps.watch('responseCache', responseCache),
    blobs: steps.watch('blobs', blobs),
    queue: steps.watch('queue', queue),
    requests: steps.watch('requests', requests),
    workLeases: steps.watch('workLeases', workLeases),
    clock,
    budgets,
    activeGroups,
  };
}

/** Who has paid for the calls of the group that reuses others. */
function payersOf(stage: FakeStage): readonly (string | undefined)[] {
  return ids.map((id) => stage.cell({ id })?.result?.calls[0]?.takenFrom?.run);
}

describe('a group in a stage that reuses another', () => {
  it.each([false, true])('buys none of its calls, with share_calls = %s', async (sharesCalls) => {
    const stage = await aStage({ sharesCalls });
    await stage.requests.requestDispatch(plan);

    await workAll(stage);

    expect(stage.models.requests).toHaveLength(ids.length);
    expect(payersOf(stage)).toEqual(ids.map(() => 'first-r1'));
  });

  it('buys what the other has not bought', async () => {
    const stage = await aStage({ recorded: ['q1', 'q3'] });
    await stage.requests.requestDispatch(plan);

    await workAll(stage);

    expect(stage.models.requests).toHaveLength(ids.length);
    expect(payersOf(stage)).toEqual(['first-r1', undefined, 'first-r1']);
  });

  it('gets no task before all of them are entered, also by a request for the cells of a lane', async () => {
    const stage = await aStage();
    await recordMany(stage, 2 * limits.pageSize);

    for (const request of [plan, { ...plan, kind: 'refill', breakerKey: 'lab' } as const]) {
      await dispatchTasks(request, aPage(), stage);

      expect(stage.queue.sent.filter(({ task }) => task.run === 'demo-r1')).toEqual([]);
    }
  });

  it('is planned without the calls of a group that was deleted since', async () => {
    const stage = await aStage();
    await stage.ledger.deleteHeader('first');
    await stage.requests.requestDispatch(plan);

    await workAll(stage);

    expect(stage.models.requests).toHaveLength(2 * ids.length);
  });
});

describe('a group whose configs share calls since an edit', () => {
  it('enters its own before the tasks of the edited plan are sent, so that none is bought again', async () => {
    const stage = new FakeStage();
    const header = await stage.enter({ ids, configs: [{ name: 'asked' }, { name: 'again' }] });
    await stage.complete(ids, { config: 'asked' });
    const spec = { ...header.spec, share_calls: true };
    const { edits } = anEditedHeader();
    await stage.ledger.replaceHeader(header, { ...header, spec, edits });
    await stage.requests.requestDispatch(plan);

    await workAll(stage);

    expect(stage.models.requests).toHaveLength(ids.length);
    expect(stage.cell({ config: 'again' })?.result?.calls[0]?.takenFrom?.config).toBe('asked');
  });
});

describe('the calls that a group reuses', () => {
  it('are entered in pages, however many they are', async () => {
    const stage = await aStage();
    await recordMany(stage, 3 * limits.pageSize);
    const { addEntries } = stage.responseCache;
    const sizes: number[] = [];
    stage.responseCache.addEntries = async (entries) => {
      sizes.push(entries.length);
      await addEntries.call(stage.responseCache, entries);
    };

    await dispatchTasks(plan, workPartOptions(), stage);

    expect(sizes).toEqual([1_000, 1_000, 1_000, 2 * ids.length]);
  });

  it('are entered in parts, each of which continues behind the last', async () => {
    const stage = await aStage();
    await recordMany(stage, 3 * limits.pageSize);
    const entered = watchEntered(stage.responseCache);
    await stage.requests.requestDispatch(plan);

    await workAll(stage);

    const count = 3 * limits.pageSize + ids.length;
    expect(entered).toHaveLength(count);
    expect(new Set(entered).size).toBe(count);
  });

  it('are entered again from the last checkpoint at most, when a function dies', async () => {
    const stage = await aStage();
    await recordMany(stage, 45 * limits.pageSize);
    const entered = watchEntered(stage.responseCache, 30);

    await expect(dispatchTasks(plan, workPartOptions(), stage)).rejects.toMatchObject({
      code: 'store-unavailable',
    });
    stage.clock.advance(limits.leaseMs);
    await dispatchTasks(plan, workPartOptions(), stage);

    const count = 45 * limits.pageSize + ids.length;
    expect(new Set(entered).size).toBe(count);
    // Pages 21 to 29.
    expect(entered).toHaveLength(count + 9 * limits.pageSize);
  });

  it('are not entered again by a repeated request for the plan, once they all are', async () => {
    const stage = await aStage();
    const entered = watchEntered(stage.responseCache);
    stage.queue.failNextSend(anError('store-unavailable'));

    await dispatchTasks(plan, workPartOptions(), stage).catch(() => undefined);
    stage.clock.advance(limits.leaseMs);
    await dispatchTasks(plan, workPartOptions(), stage);

    expect(entered).toHaveLength(ids.length);
  });

  it('are all found, wherever the functions that enter them die', async () => {
    const stepCount = await countSteps();

    for (const takesEffect of [false, true]) {
      for (let at = 0; at < stepCount; at += 1) {
        const stage = await aStage();
        await recordMany(stage, limits.pageSize);
        await stage.requests.requestDispatch(plan);
        const fault = { at, takesEffect, crashesProcess: true };

        await workAll(stage, new Steps(fault)).catch(() => undefined);
        await answerAll(stage);
        stage.clock.advance(limits.workBackoffCapMs);
        await stage.requests.requestDispatch(plan);
        await workAll(stage);

        expect({ at, takesEffect, bought: stage.models.requests.length }).toEqual({
          at,
          takesEffect,
          bought: ids.length,
        });
        expect(payersOf(stage)).toEqual(ids.map(() => 'first-r1'));
      }
    }
  });
});

/** Counts the steps of a plan that nothing disturbs. */
async function countSteps(): Promise<number> {
  const stage = await aStage();
  await recordMany(stage, limits.pageSize);
  await stage.requests.requestDispatch(plan);
  const steps = new Steps();
  await workAll(stage, steps);
  return steps.names.length;
}

/** Adds calls to the journals of the first group. */
async function recordMany(stage: FakeStage, count: number): Promise<void> {
  for (let no = 0; no < count; no += 1) {
    const key = aCellKey({ run: 'first-r1', id: `x${no}` });
    await stage.ledger.commitCall(key, aJournalEntry({ fingerprint: String(no) }));
  }
}

/** The requests of the calls that are entered for a config. The page of a number fails, counted from 1. */
function watchEntered(responseCache: ResponseCache, failingPage?: number): readonly string[] {
  const entered: string[] = [];
  const { addEntries } = responseCache;
  let pageCount = 0;
  responseCache.addEntries = async (entries) => {
    pageCount += 1;
    if (pageCount === failingPage) throw anError('store-unavailable');
    entered.push(
      ...entries.filter(({ call }) => call.config === null).map(({ call }) => call.fingerprint),
    );
    await addEntries.call(responseCache, entries);
  };
  return entered;
}
