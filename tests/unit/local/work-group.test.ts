import {
  type Benchmark,
  checkQuestions,
  type GroupHeader,
  openQuestions,
  planGroup,
  type Solver,
  solverRegistry,
  toSolverRegistry,
  type WorkerEvent,
} from '@thrice/core';
import {
  createNodeDigest,
  type Ending,
  fileSourceReader,
  LocalEngine,
  SlotGovernor,
  slotsPerLane,
  workGroup,
} from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { twoStepSolver } from '../../fixtures/toy/two-step-solver.ts';
import { additions, toJsonl } from '../../support/additions.ts';
import { aBenchmark, aConfig, aLane, aModelResponse, anError } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aDraft } from '../../support/fake-engine.ts';
import { type FakeAnswer, FakeModelClient } from '../../support/fake-model-client.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { takePermit } from '../../support/permits.ts';
import { settledBy } from '../../support/settled-by.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Work that takes longer than this is stopped, ms of the fake clock. */
const LIMIT_MS = 3_600_000;
/** Longest jump of the clock, ms: the worker's heartbeat must not run ahead of its loop, which sleeps this long. */
const MAX_ADVANCE_MS = 100;
const QUESTION_COUNT = 5;

/** A governor with a bug: it forgets waiters until `recover` is called. */
class ForgetfulGovernor extends SlotGovernor {
  #isForgetful = true;

  protected override grantWaiting(): void {
    if (!this.#isForgetful) super.grantWaiting();
  }

  override recover(): void {
    this.#isForgetful = false;
    super.recover();
  }
}

/** Asks for a draft on the lane of its config, then has it checked on lane `b`. */
const twoLaneSolver: Solver = {
  kind: 'two-lane',
  next: (input) => {
    const move = twoStepSolver.next(input);
    if (move.kind !== 'call' || move.step !== 'check') return move;
    return { ...move, request: { ...move.request, lane: 'b' } };
  },
};

const twoLanes = new Map([
  ['lab', aLane()],
  ['b', aLane({ name: 'b' })],
]);

/** Plans a group and works on it; the clock advances whenever the worker has nothing else to do. */
async function work(init: {
  readonly benchmark: Benchmark;
  readonly answer: FakeAnswer;
  readonly clock?: FakeClock;
  readonly governor?: SlotGovernor;
  readonly waitForQuota?: boolean;
}): Promise<{ readonly ending: Ending; readonly events: readonly WorkerEvent[] }> {
  const { benchmark, clock = new FakeClock() } = init;
  await using folder = await temporaryFolder({ 'q.jsonl': toJsonl(additions(QUESTION_COUNT)) });
  using engine = new LocalEngine(folder.path, clock);
  const source = openQuestions('q.jsonl', (path) => folder.resolve(path), fileSourceReader);
  const checked = await checkQuestions(source, undefined, benchmark.configs, createNodeDigest);
  const { ledger, blobs } = engine;
  const header = await planGroup(
    { benchmark, draft: aDraft(), source, checked, skipped: new Map(), clock, random: () => 0 },
    { ledger, blobs, queueOf: (group) => engine.queueOf(group) },
  );
  const events: WorkerEvent[] = [];
  const models = new FakeModelClient(init.answer);
  const stop = new AbortController();
  const ending = workGroup({
    engine,
    header,
    benchmark,
    clientFor: () => models,
    patterns: inProcessPatterns,
    random: () => 0,
    governor: init.governor ?? new SlotGovernor(slotsOf(benchmark, clock)),
    observe: (event) => events.push(event),
    solvers: toSolverRegistry([...solverRegistry.values(), twoLaneSolver]),
    scope: { runs: header.runs, configs: benchmark.configs.map(({ name }) => name) },
    waitForQuota: init.waitForQuota ?? false,
    drainSignal: stop.signal,
    stopSignal: stop.signal,
  });
  await passTime(ending, { engine, clock, header, stop });
  return { ending: await ending, events };
}

async function passTime(
  ending: Promise<Ending>,
  {
    engine,
    clock,
    header,
    stop,
  }: {
    readonly engine: LocalEngine;
    readonly clock: FakeClock;
    readonly header: GroupHeader;
    readonly stop: AbortController;
  },
): Promise<void> {
  const queue = engine.queueOf(header.group);
  while (!(await settledBy(ending))) {
    // Sending nothing commits what the worker has written so far.
    await queue.send('lab', []);
    clock.advance(Math.min(clock.nextDueInMs ?? 0, MAX_ADVANCE_MS));
    if (clock.monotonicMs() > LIMIT_MS) stop.abort();
  }
}

function slotsOf(benchmark: Benchmark, clock: FakeClock) {
  const perLane = slotsPerLane(benchmark);
  return { clock, total: benchmark.parallel, perLane, random: () => 0 };
}

function stallsOf(events: readonly WorkerEvent[]): readonly WorkerEvent[] {
  return events.filter(({ kind }) => kind === 'stalled');
}

function completedConfigs(events: readonly WorkerEvent[]): readonly string[] {
  return events.flatMap((event) => (event.kind === 'cell-completed' ? [event.key.config] : []));
}

function breakerKeysOf({ openBreakers }: Extract<Ending, { readonly kind: 'paused' }>) {
  return openBreakers.map(({ breakerKey }) => breakerKey).toSorted();
}

describe('workGroup', () => {
  it.each([0, 1])(
    'reports and ends a stall when a bug stops all progress and %i permits were never returned',
    async (leakedCount) => {
      const clock = new FakeClock();
      const governor = new ForgetfulGovernor({
        clock,
        total: 2 + leakedCount,
        perLane: new Map([['lab', 2 + leakedCount]]),
        random: () => 0,
      });
      for (let count = 0; count < leakedCount; count += 1) await takePermit(governor, 'lab');

      const { ending, events } = await work({
        benchmark: aBenchmark({ parallel: 2 }),
        answer: () => aModelResponse(),
        clock,
        governor,
      });

      expect(ending).toEqual({ kind: 'complete' });
      expect(stallsOf(events)).toEqual([{ kind: 'stalled', cellCount: 3, forMs: 30_000 }]);
      expect(events.filter(({ kind }) => kind === 'cell-completed')).toHaveLength(QUESTION_COUNT);
    },
  );

  it.each([
    { title: 'that lasts', isStalledAt: () => true, stallCount: 3 },
    {
      title: 'of 25 seconds at a time',
      isStalledAt: (atMs: number) => atMs % 40_000 < 25_000,
      stallCount: 0,
    },
  ])(
    'reports a stall $title $stallCount times in 100 seconds, even if the wall clock is set back',
    async ({ isStalledAt, stallCount }) => {
      const clock = new FakeClock();
      const benchmark = aBenchmark({ parallel: QUESTION_COUNT });
      class StalledGovernor extends SlotGovernor {
        override get isStalled(): boolean {
          return isStalledAt(clock.monotonicMs());
        }
      }

      const { events } = await work({
        benchmark,
        answer: async () => {
          clock.setWallClock(clock.now() - 600_000);
          await clock.sleep(100_000);
          return aModelResponse();
        },
        clock,
        governor: new StalledGovernor(slotsOf(benchmark, clock)),
      });

      expect(stallsOf(events)).toHaveLength(stallCount);
    },
  );

  it('pauses when all remaining cells wait for the breaker of a second lane', async () => {
    const { ending, events } = await work({
      benchmark: aBenchmark({
        parallel: 2,
        configs: [aConfig({ name: 'checked', solver: 'two-lane' }), aConfig()],
        lanes: twoLanes,
      }),
      answer: ({ lane }) => (lane.name === 'b' ? anError('auth-failed') : aModelResponse()),
    });

    expect(ending).toMatchObject({ kind: 'paused', openBreakers: [{ breakerKey: 'b' }] });
    expect(completedConfigs(events)).toEqual(Array(QUESTION_COUNT).fill('direct'));
  });

  it('pauses with every breaker that remaining cells wait for', async () => {
    const { ending } = await work({
      benchmark: aBenchmark({
        configs: [aConfig({ name: 'checked', solver: 'two-lane' }), aConfig({ lane: 'c' })],
        lanes: new Map([...twoLanes, ['c', aLane({ name: 'c' })]]),
      }),
      answer: ({ lane }) => (lane.name === 'lab' ? aModelResponse() : anError('auth-failed')),
    });

    expect(ending.kind === 'paused' && breakerKeysOf(ending)).toEqual(['b', 'c']);
  });

  it('does not pause before a cell that waits for something else', async () => {
    let draftCount = 0;

    const { ending } = await work({
      benchmark: aBenchmark({ configs: [aConfig({ solver: 'two-lane' })], lanes: twoLanes }),
      answer: ({ lane }) => {
        if (lane.name === 'b') return anError('auth-failed');
        draftCount += 1;
        return draftCount === 1
          ? anError('model-rate-limited', { retryAfterMs: 20_000 })
          : aModelResponse();
      },
    });

    expect(ending).toMatchObject({ kind: 'paused' });
    expect(draftCount).toBe(QUESTION_COUNT + 1);
  });

  it('completes when the breaker of a second lane closes while it waits for a quota', async () => {
    const clock = new FakeClock();
    const resetAtMs = clock.now() + 60_000;

    const { ending, events } = await work({
      benchmark: aBenchmark({ configs: [aConfig({ solver: 'two-lane' })], lanes: twoLanes }),
      answer: ({ lane }) =>
        lane.name === 'b' && clock.now() < resetAtMs
          ? anError('quota-exhausted', { resetAt: clock.toIso(resetAtMs) })
          : aModelResponse(),
      clock,
      waitForQuota: true,
    });

    expect(ending).toEqual({ kind: 'complete' });
    expect(completedConfigs(events)).toHaveLength(QUESTION_COUNT);
  });

  it('reports no stall while the lane of a second step is held', async () => {
    let refusedCount = 0;

    const { ending, events } = await work({
      benchmark: aBenchmark({
        parallel: 2,
        configs: [aConfig({ solver: 'two-lane' })],
        lanes: twoLanes,
      }),
      answer: ({ lane }) => {
        if (lane.name === 'lab' || refusedCount === 2) return aModelResponse();
        refusedCount += 1;
        return anError('model-rate-limited', { retryAfterMs: 100_000 });
      },
    });

    expect(ending).toEqual({ kind: 'complete' });
    expect(stallsOf(events)).toEqual([]);
  });
});
