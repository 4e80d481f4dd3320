import { type Benchmark, limits, type ThriceError } from '@thrice/core';
import { type Ending, LocalEngine, type WorkEvent, workGroup } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../../support/additions.ts';
import {
  aBenchmark,
  aConfig,
  aLane,
  aModelResponse,
  anError,
  anOpenBreaker,
} from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type FakeAnswer, FakeModelClient } from '../../support/fake-model-client.ts';
import { aPlanIn, workGroupOptions } from '../../support/local-work.ts';
import { planGroup } from '../../support/plan-group.ts';
import { settledBy } from '../../support/settled-by.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const QUESTION_COUNT = 20;
/** Longest jump of the clock, ms: the worker's heartbeat must not run ahead of its loop. */
const MAX_ADVANCE_MS = 1_000;

/** A request that found nothing to connect to. */
const refused = () => anError('connection-failed', { isUnsent: true });

/** Returns a function that returns true once. */
function firstOf(): () => boolean {
  let count = 0;
  return () => {
    count += 1;
    return count === 1;
  };
}

interface Worked {
  readonly ending: Ending;
  readonly events: readonly WorkEvent[];
  /** When each call was made, ms since the start of the work. */
  readonly callsAtMs: readonly number[];
  readonly openKeys: readonly string[];
  readonly clock: FakeClock;
}

/** Works on a group of direct cells, in virtual time. */
async function work(init: {
  readonly answer: (atMs: number, ...call: Parameters<FakeAnswer>) => ReturnType<FakeAnswer>;
  readonly clock?: FakeClock;
  readonly benchmark?: Partial<Benchmark>;
  /** Keys of breakers that are open when the work starts, and whether it half-opens them. */
  readonly open?: readonly string[];
  readonly halfOpen?: readonly string[];
}): Promise<Worked> {
  const { clock = new FakeClock() } = init;
  const benchmark = aBenchmark({ parallel: 8, maxAttempts: 5, ...init.benchmark });
  await using folder = await temporaryFolder({ 'q.jsonl': toJsonl(additions(QUESTION_COUNT)) });
  using engine = new LocalEngine(folder.path, clock);
  const { ledger } = engine;
  const header = await planGroup(await aPlanIn(folder, { benchmark, clock }), engine);
  for (const breakerKey of init.open ?? []) await ledger.openBreaker(anOpenBreaker({ breakerKey }));
  const startedMs = clock.monotonicMs();
  const callsAtMs: number[] = [];
  const events: WorkEvent[] = [];
  const models = new FakeModelClient((...call) => {
    callsAtMs.push(clock.monotonicMs() - startedMs);
    return init.answer(clock.monotonicMs() - startedMs, ...call);
  });
  const stop = new AbortController();
  const options = workGroupOptions({
    ...{ engine, header, benchmark },
    clientFor: () => models,
    observe: (event) => events.push(event),
    halfOpen: new Set(init.halfOpen),
    ...{ drainSignal: stop.signal, stopSignal: stop.signal },
  });
  const working = workGroup(options);
  const queue = engine.queueOf(header.group);
  while (!(await settledBy(working))) {
    await queue.send('lab', []);
    clock.advance(Math.min(clock.nextDueInMs ?? 0, MAX_ADVANCE_MS));
    if (clock.monotonicMs() > 2 * limits.outagePatienceMs) stop.abort();
  }
  const open = await ledger.listOpenBreakers();
  const openKeys = open.map(({ breakerKey }) => breakerKey);
  return { ending: await working, events, callsAtMs, openKeys, clock };
}

/** The outcomes of cells, with the attempts that each used up. */
function outcomesOf({ events }: Worked): readonly string[] {
  return events.flatMap((event) =>
    event.kind === 'cell-completed' ? [`${event.result.outcome} ${event.result.attempts}`] : [],
  );
}

describe('a lane whose server goes away', () => {
  const awayFromMs = 3_000;
  const backAtMs = 300_000;

  it.each<[string, () => ThriceError]>([
    ['refuses connections', refused],
    ['resets connections', () => anError('connection-failed')],
    ['answers 503', () => anError('model-unavailable')],
  ])('and %s for five minutes fails no cell', async (_, fail) => {
    let answered = 0;

    const worked = await work({
      answer: async (atMs, { model }) => {
        if (atMs >= awayFromMs && atMs < backAtMs) return fail();
        answered += 1;
        // Some are answered before the server goes away.
        if (answered > 4 && atMs < awayFromMs) return fail();
        return aModelResponse({ servedModel: model });
      },
    });

    expect(worked.ending).toEqual({ kind: 'complete' });
    expect(outcomesOf(worked).every((outcome) => outcome.startsWith('scored'))).toBe(true);
    expect(outcomesOf(worked)).toHaveLength(QUESTION_COUNT);
    expect(worked.openKeys).toEqual([]);
  });

  it('gets one call at a time while its breaker is half-open, less often the longer it is away', async () => {
    const isFirst = firstOf();

    const worked = await work({
      answer: (atMs) => (isFirst() || atMs >= backAtMs ? aModelResponse() : refused()),
    });

    const probes = worked.callsAtMs.filter((atMs) => atMs > 5_000 && atMs < backAtMs);
    const gaps = probes.slice(1).map((atMs, index) => atMs - (probes[index] ?? 0));
    expect(probes.length).toBeLessThanOrEqual(22);
    expect(Math.min(...gaps)).toBeGreaterThan(1_500);
    expect(outcomesOf(worked)).toEqual(Array(QUESTION_COUNT).fill('scored 1'));
  });

  it('pauses the run after half an hour', async () => {
    const isFirst = firstOf();

    const worked = await work({ answer: () => (isFirst() ? aModelResponse() : refused()) });

    expect(worked.ending).toMatchObject({
      kind: 'paused',
      openBreakers: [{ breakerKey: 'lab', error: { code: 'connection-failed' } }],
    });
    const waitedMs = worked.clock.monotonicMs();
    expect(waitedMs).toBeGreaterThan(limits.outagePatienceMs);
    expect(waitedMs).toBeLessThan(limits.outagePatienceMs + 2 * limits.outageProbeCapMs);
  });

  it('pauses the run after a minute where it has never responded', async () => {
    const worked = await work({ answer: refused });

    expect(worked.ending).toMatchObject({ kind: 'paused' });
    expect(outcomesOf(worked)).toEqual([]);
    expect(worked.clock.monotonicMs()).toBeLessThan(150_000);
  });

  it('does not stop another lane', async () => {
    const worked = await work({
      benchmark: {
        configs: [aConfig(), aConfig({ name: 'other', lane: 'b' })],
        lanes: new Map([
          ['lab', aLane()],
          ['b', aLane({ name: 'b' })],
        ]),
      },
      answer: (_, { lane }) => (lane.name === 'lab' ? refused() : aModelResponse()),
    });

    expect(worked.ending).toMatchObject({ kind: 'paused' });
    expect(outcomesOf(worked)).toEqual(Array(QUESTION_COUNT).fill('scored 1'));
  });
});

describe('questions that crash a server', () => {
  it('end as failed, and the others are scored', async () => {
    const deadly = new Set(['q0014', 'q0015', 'q0016', 'q0017', 'q0018', 'q0019']);

    const worked = await work({
      answer: (_, { cell }) =>
        deadly.has(cell.id) ? anError('connection-failed') : aModelResponse(),
    });

    const outcomes = outcomesOf(worked).map((outcome) => outcome.split(' ')[0]);
    expect(worked.ending).toEqual({ kind: 'complete' });
    expect(outcomes.filter((outcome) => outcome === 'failed')).toHaveLength(6);
    expect(outcomes.filter((outcome) => outcome !== 'failed')).toHaveLength(14);
  });
});

describe('a breaker that is half-open from the start', () => {
  it('lets one call pass and then all', async () => {
    const clock = new FakeClock();
    let inFlight = 0;
    const atCall: number[] = [];

    const worked = await work({
      clock,
      open: ['lab'],
      halfOpen: ['lab'],
      answer: async () => {
        inFlight += 1;
        atCall.push(inFlight);
        await clock.sleep(3_000);
        inFlight -= 1;
        return aModelResponse();
      },
    });

    // The first call ends before the second one starts; then eight are in flight.
    expect(atCall.slice(0, 3)).toEqual([1, 1, 2]);
    expect(Math.max(...atCall)).toBe(8);

    expect(worked.ending).toEqual({ kind: 'complete' });
    expect(worked.openKeys).toEqual([]);
    expect(outcomesOf(worked)).toHaveLength(QUESTION_COUNT);
  });

  it.each([
    ['lab', () => anError('auth-failed')],
    ['lab/m', () => aModelResponse({ servedModel: 'another' })],
  ] as const)('costs one call if %s is still blocked', async (breakerKey, answer) => {
    const worked = await work({ open: [breakerKey], halfOpen: [breakerKey], answer });

    expect(worked.ending).toMatchObject({ kind: 'paused', openBreakers: [{ breakerKey }] });
    expect(worked.callsAtMs).toHaveLength(1);
  });

  it('is closed by a refusal that shows that the server works', async () => {
    let count = 0;

    const worked = await work({
      open: ['lab'],
      halfOpen: ['lab'],
      answer: () => {
        count += 1;
        return count === 1 ? anError('content-filtered') : aModelResponse();
      },
    });

    expect(worked.ending).toEqual({ kind: 'complete' });
    expect(worked.openKeys).toEqual([]);
  });

  it('stays open for the cells of a group that does not half-open it', async () => {
    const worked = await work({ open: ['lab'], answer: () => aModelResponse() });

    expect(worked.ending).toMatchObject({ kind: 'paused' });
    expect(worked.callsAtMs).toEqual([]);
  });
});

describe('a server that is no model API', () => {
  it('is asked by a few cells and some probes, until the work pauses', async () => {
    const fault = anError('truncated-response', { isPage: true });

    const worked = await work({ answer: async () => aModelResponse({ fault }) });

    expect(worked.ending).toMatchObject({ kind: 'paused', openBreakers: [{ breakerKey: 'lab' }] });
    expect(outcomesOf(worked)).toEqual([]);
    expect(worked.callsAtMs.length).toBeLessThan(20);
  });
});
