import {
  type DispatchRequest,
  dispatchTasks,
  finalizePart,
  limits,
  reconcileGroups,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aCellKey,
  aJournalEntry,
  anEditedHeader,
  anError,
  anOpenBreaker,
} from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { readRowFile, runKey } from '../../support/published-rows.ts';
import { Steps } from '../../support/steps.ts';
import { workPartOptions } from '../../support/work-part-options.ts';

/** What others do at one step of some work. */
interface Change<Context> {
  readonly name: string;
  readonly act: (context: Context) => Promise<void>;
}

/** Does some work anew for each of its steps, at which a change happens. */
async function atEachStep<Context>(
  change: Change<Context>,
  open: () => Promise<Context>,
  work: (context: Context, steps: Steps, where: string) => Promise<void>,
): Promise<void> {
  const untouched = new Steps();
  await work(await open(), untouched, 'untouched');
  expect(untouched.names.length).toBeGreaterThan(5);
  for (const [at, name] of untouched.names.entries()) {
    const context = await open();
    const steps = new Steps();
    steps.meanwhile = async () => {
      if (steps.names.length === at + 1) await change.act(context);
    };
    await work(context, steps, `${change.name} at step ${at}, ${name}`);
  }
}

const plan: DispatchRequest = { v: 1, group: 'demo', kind: 'plan' };
const ids = Array.from({ length: limits.pageSize + 1 }, (_, index) => `q${index}`);
const fingerprints = ['1', '2'];

/** A group of two pages, to be planned, and another one of two runs, which it may reuse. */
async function openPlan(reuse: readonly string[]): Promise<FakeStage> {
  const stage = new FakeStage();
  await stage.enter({ group: 'first', runCount: 2 });
  for (const run of ['first-r1', 'first-r2'])
    for (const id of fingerprints)
      await stage.ledger.commitCall(aCellKey({ run, id }), aJournalEntry({ fingerprint: id }));
  await stage.enter({ ids, reuse, isPlanned: false });
  await stage.requests.requestDispatch(plan);
  return stage;
}

/** Edits the plan as `resume --spec` does: a question is added before the others, and a replicate. */
async function edit(stage: FakeStage): Promise<void> {
  const header = await headerOf(stage);
  const drafts = new FakeStage();
  const draft = await drafts.enter({ ids: ['new', ...ids], runCount: 2 });
  const questions = { ...draft.questions, key: 'questions/edited.jsonl' };
  await stage.blobs.write(questions.key, [drafts.blobs.texts.get(draft.questions.key) ?? '']);
  const { edits } = anEditedHeader();
  const { runs, configs } = draft;
  expect(
    await stage.ledger.replaceHeader(header, { ...header, runs, configs, questions, edits }),
  ).toBe(true);
  await stage.requests.requestDispatch(plan);
}

async function headerOf({ ledger }: FakeStage) {
  const record = await ledger.readGroup('demo');
  if (record === undefined) throw new Error('expected a group');
  return record.header;
}

/** A worker that serves the requests from its first step on, as another function does once a lease has ended. */
async function serveAll(stage: FakeStage, steps = new Steps()): Promise<void> {
  const stores = {
    ...{ blobs: steps.watch('blobs', stage.blobs), clock: stage.clock, budgets: stage.budgets },
    ledger: steps.watch('ledger', stage.ledger),
    queue: steps.watch('queue', stage.queue),
    workLeases: steps.watch('workLeases', stage.workLeases),
    requests: steps.watch('requests', stage.requests),
    responseCache: steps.watch('responseCache', stage.responseCache),
    activeGroups: stage.activeGroups,
  };
  for (let round = 0; stage.requests.countPending('tasks') > 0; round += 1) {
    expect(round).toBeLessThan(40);
    await stage.requests.serveNext('tasks', async (request, delivery) => {
      if (!('kind' in request)) return;
      const options = workPartOptions({ isOutOfTime: () => true, ...delivery });
      const dispatch = await dispatchTasks(request, options, stores).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'lease-lost' });
        return { kind: 'sent' };
      });
      if (dispatch.kind === 'held') stage.clock.advance(limits.leaseMs);
    });
    await expectPlannedIfSaid(stage);
  }
}

/** Of a group that says it is planned, every cell has a task, and every call of the others is entered. */
async function expectPlannedIfSaid(stage: FakeStage, where = 'between parts'): Promise<void> {
  const record = await stage.ledger.readGroup('demo');
  if (record?.isPlanned !== true) return;
  const { runs, configs, reuse } = record.header;
  const sent = new Set(stage.queue.sent.map(({ task: { run, id } }) => `${run} ${id}`));
  const [{ cells = 0 } = {}] = configs;
  expect({ where, count: sent.size }).toEqual({ where, count: runs.length * cells });
  for (const run of reuse.length === 0 ? [] : runs)
    for (const fingerprint of fingerprints) {
      const call = { run, config: null, fingerprint, sample: 0 };
      expect(await stage.responseCache.findCall([call]), `${where}: ${run}`).toMatchObject({
        buyer: { run: run.replace('demo', 'first') },
      });
    }
}

const ofPlans: readonly Change<FakeStage>[] = [
  { name: 'an edit', act: edit },
  {
    name: 'a cancellation and a resume',
    act: async ({ ledger, requests }) => {
      await ledger.setGroupState('demo', 'cancelled');
      await requests.requestDispatch(plan);
      await ledger.setGroupState('demo', 'active');
    },
  },
  {
    name: 'a second worker, after the lease has ended',
    act: async (stage) => {
      stage.clock.advance(limits.leaseMs);
      await dispatchTasks(plan, workPartOptions(), stage);
    },
  },
];

describe.each([{ reuse: [] }, { reuse: ['first'] }])('a plan that reuses $reuse', ({ reuse }) => {
  it.each(ofPlans)(
    'is complete once its group says so, whenever there is $name',
    async (change) => {
      const open = async () => await openPlan(reuse);
      await atEachStep(change, open, async (stage, steps, where) => {
        await serveAll(stage, steps);

        await expectPlannedIfSaid(stage, where);
        expect((await stage.ledger.readGroup('demo'))?.isPlanned, where).toBe(true);
      });
    },
  );
});

/** A task in work, and what is left of its message if others had it too. */
async function openTask(): Promise<FakeStage> {
  const stage = new FakeStage();
  await stage.enter();
  return stage;
}

const resume = async (stage: FakeStage) => {
  await stage.ledger.setGroupState('demo', 'active');
  for (const breaker of await stage.ledger.listOpenBreakers())
    await stage.ledger.closeBreaker(breaker);
};

const ofTasks: readonly Change<FakeStage>[] = [
  {
    name: 'a cancellation',
    act: async ({ ledger }) => await ledger.setGroupState('demo', 'cancelled'),
  },
  {
    name: 'an edit',
    act: async ({ ledger }) => {
      const header = (await ledger.readGroup('demo'))?.header;
      const { edits } = anEditedHeader();
      if (header !== undefined) await ledger.replaceHeader(header, { ...header, edits });
    },
  },
  {
    name: 'the breaker of its lane',
    act: async ({ ledger }) => {
      await ledger.openBreaker(anOpenBreaker());
    },
  },
  {
    name: 'a second delivery',
    act: async (stage) => {
      await stage.answer(await stage.deliver());
    },
  },
  {
    name: 'a second worker, after the lease has ended',
    act: async (stage) => {
      stage.clock.advance(limits.leaseMs);
      await stage.answer(await stage.deliver());
    },
  },
];

describe('a task', () => {
  it.each(ofTasks)(
    'has its cell answered once, and paid for as recorded, whenever there is $name',
    async (change) => {
      await atEachStep(change, openTask, async (stage, steps, where) => {
        let { kind } = await stage.answer(await stage.deliver(), { steps });
        const isDone = () => stage.cell()?.state === 'done';
        const isCancelled = (await stage.ledger.readGroup('demo'))?.state === 'cancelled';
        const isDeferred = (await stage.deferred()).length > 0;

        // Whoever acknowledges a task whose cell is not done knows who sends it again.
        if (kind === 'acknowledge') expect(isDone() || isCancelled || isDeferred, where).toBe(true);
        await resume(stage);
        for (let round = 0; !isDone(); round += 1) {
          expect(round, where).toBeLessThan(5);
          stage.clock.advance(limits.leaseMs);
          ({ kind } = await stage.answer(await stage.deliver()));
        }

        const [tally] = await stage.ledger.readTallies('demo-r1');
        const { calls = [], outcome } = stage.cell()?.result ?? {};
        const discarded = await collect(stage.ledger.listDiscardedCalls('demo-r1', 'direct'));
        expect({ where, outcome, paid: calls.length + discarded.length }).toEqual({
          where,
          outcome: 'scored',
          paid: stage.models.requests.length,
        });
        expect(tally, where).toMatchObject({ correct: 1 });
        expect(stage.requests.results.length, where).toBeGreaterThan(0);
      });
    },
  );
});

describe('a task that was refused for a week', () => {
  it.each<Change<FakeStage>>([
    {
      name: 'another worker that takes its cell',
      act: async (stage) => {
        await stage.ledger.claimCell(aCellKey(), 0, 'another');
      },
    },
    {
      name: 'another worker that takes its cell over',
      act: async (stage) => {
        stage.clock.advance(limits.leaseMs);
        await stage.ledger.claimCell(aCellKey(), 0, 'another');
      },
    },
  ])('is sent again unless its cell has failed, whenever there is $name', async (change) => {
    const open = async () => {
      const stage = new FakeStage(() => anError('model-rate-limited'));
      await stage.enter();
      return stage;
    };
    await atEachStep(change, open, async (stage, steps, where) => {
      const { task, ...delivery } = await stage.deliver();
      const since = stage.clock.toIso(stage.clock.now() - limits.resendsMs);
      const resends = { count: 3, since, code: 'model-rate-limited' as const };

      const { kind } = await stage.answer({ ...delivery, task: { ...task, resends } }, { steps });

      const isFailed = stage.cell()?.result?.outcome === 'failed';
      expect({ where, kind }).toEqual({ where, kind: isFailed ? 'acknowledge' : 'resend' });
    });
  });
});

const ofResults: readonly Change<FakeStage>[] = [
  { name: 'a cell that is completed', act: async (stage) => await stage.complete(['q2']) },
  {
    name: 'a cancellation',
    act: async ({ ledger }) => await ledger.setGroupState('demo', 'cancelled'),
  },
  {
    name: 'a second worker, after the lease has ended and a cell was completed',
    act: async (stage) => {
      stage.clock.advance(limits.leaseMs);
      await stage.complete(['q2']);
      await finalizePart({ group: 'demo' }, workPartOptions(), stage);
    },
  },
];

/** A group of two cells of which one is done, whose results are requested. */
async function openResults(): Promise<FakeStage> {
  const stage = new FakeStage();
  await stage.enter({ ids: ['q1', 'q2'] });
  await stage.complete(['q1']);
  await stage.requests.requestResults({ v: 1, group: 'demo' });
  return stage;
}

/** Serves the requests for results, one part at a time. A worker that has lost its lease has to notice. */
async function writeAll(stage: FakeStage, steps = new Steps()): Promise<void> {
  const stores = {
    ...stage,
    ledger: steps.watch('ledger', stage.ledger),
    blobs: steps.watch('blobs', stage.blobs),
    workLeases: steps.watch('workLeases', stage.workLeases),
    requests: steps.watch('requests', stage.requests),
    activeGroups: steps.watch('activeGroups', stage.activeGroups),
  };
  for (let round = 0; stage.requests.countPending('results') > 0; round += 1) {
    expect(round).toBeLessThan(20);
    await stage.requests.serveNext('results', async (request, delivery) => {
      const options = workPartOptions({ isOutOfTime: () => true, ...delivery });
      await finalizePart(request, options, stores).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'lease-lost' });
      });
    });
    // A request that met a lease is delivered again when that has ended, or another one is in use.
    stage.clock.advance(limits.leaseMs);
  }
}

/** How far the group is, by its records and by what is published. */
async function recorded({ ledger }: FakeStage) {
  const isCancelled = (await ledger.readGroup('demo'))?.state === 'cancelled';
  const cells = await ledger.readCells('demo-r1', 'direct', ['q1', 'q2']);
  const done = [...cells.values()].filter(({ state }) => state === 'done').length;
  return { done, exitCode: done === 2 ? 0 : isCancelled ? 130 : 2 };
}

async function published({ blobs }: FakeStage) {
  const rows = await readRowFile(blobs, runKey('demo', 'demo-r1', 'cells/direct.jsonl'));
  const manifest = blobs.texts.get(runKey('demo', 'demo-r1', 'manifest.json')) ?? '{}';
  const { exitCode } = JSON.parse(manifest) as { readonly exitCode?: number };
  return { done: rows.filter(({ outcome }) => outcome === 'scored').length, exitCode };
}

describe('the results of a group', () => {
  it.each(ofResults)(
    'say in the end what the records do, whenever there is $name',
    async (change) => {
      await atEachStep(change, openResults, async (stage, steps, where) => {
        await writeAll(stage, steps);
        for (let minute = 0; minute < 3; minute += 1) {
          stage.clock.advance(60_000);
          await reconcileGroups(stage, () => undefined);
          await writeAll(stage);
        }

        expect({ where, ...(await published(stage)) }).toEqual({
          where,
          ...(await recorded(stage)),
        });
      });
    },
  );
});
