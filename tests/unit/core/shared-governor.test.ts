import {
  type Governor,
  type Grant,
  type LanePace,
  limits,
  type PermitRequest,
  SharedGovernor,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aLanePace, anError, aRateBelief, someTurns } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLanePaces } from '../../support/fake-lane-paces.ts';
import { FakeLaneSlots } from '../../support/fake-lane-slots.ts';
import { answered, refused, takePermit } from '../../support/permits.ts';

/** How long a worker relies on the pace that it has read, ms. */
const PACE_AGE_MS = 2_000;
const unlimited = { requestsPerMinute: null, tokensPerMinute: null };

function fail(): never {
  throw new Error('expected a worker and a pace');
}

/** Workers of a stage, each a process of its own. */
function openWorkers(count: number, random = () => 0) {
  const clock = new FakeClock();
  const paces = new FakeLanePaces();
  const slots = new FakeLaneSlots();
  let tokenNo = 0;
  const createToken = () => {
    tokenNo += 1;
    return `token-${tokenNo}`;
  };
  const workers = Array.from(
    { length: count },
    () => new SharedGovernor({ paces, slots, clock, random, createToken }),
  );
  return { clock, paces, workers };
}

type Workers = ReturnType<typeof openWorkers>;

/** Returns the cells of new invocations, one of each worker. */
function cellsOf({ workers }: Workers): readonly Governor[] {
  return workers.map((worker) => worker.forCell());
}

/** Asks for a permit of a cell that has this much time. */
async function ask(
  governor: Governor,
  {
    timeMs = 600_000,
    ...parts
  }: Partial<PermitRequest> & { readonly timeMs?: number | undefined } = {},
): Promise<Grant> {
  return await governor.grant({
    group: 'demo',
    lane: 'lab',
    model: 'm',
    limits: unlimited,
    maxConcurrency: null,
    inputTokens: 10,
    estimatedTokens: null,
    canWait: (waitMs) => waitMs <= timeMs,
    signal: new AbortController().signal,
    ...parts,
  });
}

/** Workers of a lane of which this is known. Its clock stands at the start of the rate. */
async function openLane(count: number, parts: Partial<LanePace> = {}): Promise<Workers> {
  const stage = openWorkers(count);
  const atMs = stage.clock.now();
  const pace = { groups: [someTurns({ baseAtMs: atMs })], heldUntilMs: 0, refusedAtMs: 0 };
  // Until a hold ends, a rate does not rise.
  const steady = aRateBelief({ perMinute: 60, fellAtMs: atMs + 1e9 });
  await stage.paces.replace(
    undefined,
    aLanePace({ ...pace, requests: steady, refusedSinceMs: null, ...parts }),
  );
  return stage;
}

/** Has a worker make a call, and returns how it was settled. */
async function call(stage: Workers, cell: Governor, end: Parameters<typeof settleOf>[0]) {
  const waiting = takePermit(cell, 'lab');
  await new Promise(setImmediate);
  stage.clock.advance(stage.clock.nextDueInMs ?? 0);
  return await (await waiting).settle(settleOf(end));
}

function settleOf(end: 'answered' | number | undefined) {
  return end === 'answered' ? answered : refused(end);
}

/** Advances the time in steps, and returns the number of grants after each. */
async function countGrants(
  { clock }: Workers,
  grants: readonly Promise<Grant>[],
  steps: readonly number[],
): Promise<readonly number[]> {
  let count = 0;
  for (const grant of grants) {
    void grant.then(({ kind }) => {
      count += kind === 'granted' ? 1 : 0;
    });
  }
  const counts: number[] = [];
  for (const stepMs of steps) {
    clock.advance(stepMs);
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    counts.push(count);
  }
  return counts;
}

function theOnly<T>(items: readonly T[]): T {
  const [item] = items;
  return item ?? fail();
}

describe('a lane that has refused nothing', () => {
  it('takes all calls at once, and each process reads its pace every two seconds at most', async () => {
    const { clock, paces, workers } = openWorkers(1);

    for (let no = 0; no < 40; no += 1) {
      const permit = await takePermit(theOnly(workers).forCell(), 'lab');
      expect(permit.waitMs).toBe(0);
      await permit.settle(answered);
      clock.advance(100);
    }

    expect(paces.log).toEqual(['read', 'read']);
  });

  it('is not paced by what its vendor states', async () => {
    const stage = openWorkers(1);
    const rateLimits = { 'anthropic-ratelimit-requests-limit': '5' };

    for (let no = 0; no < 10; no += 1) {
      const permit = await takePermit(theOnly(cellsOf(stage)), 'lab');
      await permit.settle({ ...answered, rateLimits } as typeof answered);
    }

    expect(stage.paces.log).toEqual(['read']);
  });
});

describe('a pace that was read elsewhere', () => {
  it('spares the governor its own reading', async () => {
    const { clock, paces, workers } = openWorkers(1);

    for (const worker of workers) {
      worker.notePace('lab', undefined, clock.monotonicMs());
      await ask(worker.forCell());
    }

    expect(paces.log).toEqual([]);
  });

  it('does not replace a later one', async () => {
    const stage = await openLane(1, { heldUntilMs: openWorkers(1).clock.now() + 1_000 });
    const worker = theOnly(stage.workers);
    const readAtMs = stage.clock.monotonicMs() - 1;
    const first = ask(worker.forCell());
    await new Promise(setImmediate);

    worker.notePace('lab', undefined, readAtMs);
    const grants = [first, ask(worker.forCell())];

    expect(await countGrants(stage, grants, [999, 1])).toEqual([0, 2]);
  });
});

describe('a refusal', () => {
  it('holds the lane for all workers until they know, and lets few calls through after', async () => {
    const stage = openWorkers(4);
    await call(stage, theOnly(cellsOf(stage)), 1_000);
    const grants = cellsOf(stage).map((cell) => ask(cell));
    await new Promise(setImmediate);

    const counts = await countGrants(stage, grants, [1_999, 1, 999, 1, 1_000, 1_000]);

    expect(counts).toEqual([0, 1, 1, 2, 3, 4]);
  });

  it('of calls in flight together slows the lane down once', async () => {
    const stage = openWorkers(64);
    const permits = await Promise.all(cellsOf(stage).map((cell) => takePermit(cell, 'lab')));

    for (const permit of permits) await permit.settle(refused(1_000));

    expect(stage.paces.log.filter((method) => method === 'replace')).toEqual(['replace']);
    expect(await stage.paces.read('lab')).toMatchObject({ requests: { perMinute: 60 } });
  });

  it('of a call that was sent before its process knew of the limit does not slow it down again', async () => {
    const stage = openWorkers(2);
    const [first, second] = await Promise.all(
      cellsOf(stage).map((cell) => takePermit(cell, 'lab')),
    );
    await first?.settle(refused(1_000));
    stage.clock.advance(1_500);

    await second?.settle(refused(1_000));

    expect(await stage.paces.read('lab')).toMatchObject({ requests: { perMinute: 60 } });
  });

  it('delays no more than the vendor asks: the refused call is the first after the hold', async () => {
    const stage = await openLane(3);
    const [cell, ...others] = cellsOf(stage);
    const permit = await takePermit(cell ?? fail(), 'lab');
    stage.clock.advance(500);
    await permit.settle(refused(5_000));
    stage.clock.advance(2_000);

    const grants = [ask(cell ?? fail()), ...others.map((other) => ask(other))];
    await new Promise(setImmediate);

    expect(await countGrants(stage, grants, [2_999, 1, 999, 999])).toEqual([0, 1, 1, 2]);
  });

  it('lowers a rate that was found by little', async () => {
    const stage = await openLane(1);
    stage.clock.advance(60_000);

    await call(stage, theOnly(cellsOf(stage)), 1_000);

    const pace = (await stage.paces.read('lab')) ?? fail();
    expect(pace.requests?.phase).toBe('found');
    expect(pace.heldUntilMs).toBe(stage.clock.now() + 1_000);
  });

  it('that names tokens slows down the tokens of a lane whose vendor states their limit', async () => {
    const stated = { requestsPerMinute: null, tokensPerMinute: 100_000 };
    const stage = await openLane(1, { stated });
    const permit = await takePermit(theOnly(cellsOf(stage)), 'lab');

    await permit.settle(refused(1_000, 'limit reached on tokens per min (TPM)'));

    const pace = (await stage.paces.read('lab')) ?? fail();
    expect(pace.requests?.perMinute).toBe(60);
    expect(pace.tokens?.perMinute).toBeLessThan(97_000);
  });

  it('has a lane called at the rate that its vendor states', async () => {
    const stage = openWorkers(1);
    const permit = await takePermit(theOnly(cellsOf(stage)), 'lab');
    const rateLimits = { 'anthropic-ratelimit-requests-limit': '600' };

    await permit.settle({ kind: 'refused', retryAfterMs: 1_000, rateLimits, reason: '429' });

    expect(await stage.paces.read('lab')).toMatchObject({
      requests: { perMinute: 0.97 * 600, phase: 'approaching' },
      stated: { requestsPerMinute: 600, tokensPerMinute: null },
    });
  });
});

describe('the turns of a limited lane', () => {
  it('are due at its rate, whoever has taken them', async () => {
    const stage = await openLane(4);
    const grants = cellsOf(stage).map((cell) => ask(cell));
    await new Promise(setImmediate);

    expect(await countGrants(stage, grants, [0, 999, 1, 1_000, 1_000])).toEqual([1, 1, 2, 3, 4]);
  });

  it('come faster with time, without a write, until calls need none', async () => {
    const stage = await openLane(1);
    const pace = (await stage.paces.read('lab')) ?? fail();
    const requests = aRateBelief({ fellAtMs: stage.clock.now(), phase: 'searching' });
    await stage.paces.replace(pace, { ...pace, requests, token: 'b' });
    const writes = stage.paces.log.length;

    stage.clock.advance(60_000);
    for (let no = 0; no < 100; no += 1) {
      const permit = await takePermit(theOnly(stage.workers).forCell(), 'lab');
      await permit.settle(answered);
    }

    expect(stage.paces.log.slice(writes)).toEqual(['read']);
  });

  it('are taken in blocks by a process that uses many', async () => {
    const requests = aRateBelief({ perMinute: 6_000 });
    const stage = await openLane(1, { requests });
    const worker = theOnly(stage.workers);

    for (let no = 0; no < 100; no += 1) {
      const waiting = takePermit(worker.forCell(), 'lab');
      while (stage.clock.sleeperCount === 0) {
        const granted = await Promise.race([waiting, new Promise(setImmediate)]);
        if (granted !== undefined) break;
      }
      stage.clock.advance(stage.clock.nextDueInMs ?? 0);
      await (await waiting).settle(answered);
    }

    const writes = stage.paces.log.filter((method) => method === 'takeTurns').length;
    expect(writes).toBeLessThan(15);
  });

  it('are due when the tokens before them are allowed', async () => {
    const tokens = aRateBelief({ perMinute: 6_000, perCall: 100, fellAtMs: 2e12 });
    const stated = { requestsPerMinute: null, tokensPerMinute: 1e9 };
    const stage = await openLane(3, { requests: null, tokens, stated });
    const grants = cellsOf(stage).map((cell) => ask(cell, { estimatedTokens: 200 }));
    await new Promise(setImmediate);

    expect(await countGrants(stage, grants, [0, 1_999, 1, 1_999, 1])).toEqual([1, 1, 2, 2, 3]);
  });

  it('count with the tokens that their calls took, once that is known', async () => {
    const stage = await openLane(1);
    const cell = theOnly(cellsOf(stage));
    const grant = await ask(cell, { estimatedTokens: 5_000 });
    if (grant.kind !== 'granted') fail();
    await grant.permit.settle(answered);
    stage.clock.advance(1_000);

    await ask(cell, { estimatedTokens: 5_000 });

    // Both took 12 tokens.
    const pace = await stage.paces.read('lab');
    expect(pace?.groups[0]).toMatchObject({ lastTurn: 2, lastTokens: 24 });
  });
});

describe('a limit in the spec', () => {
  it('paces a lane that has refused nothing', async () => {
    const stage = openWorkers(3);
    const own = { requestsPerMinute: 60, tokensPerMinute: null };
    const grants = cellsOf(stage).map((cell) => ask(cell, { limits: own }));
    for (let turn = 0; turn < 9; turn += 1) await new Promise(setImmediate);

    expect(await countGrants(stage, grants, [0, 999, 1, 1_000])).toEqual([1, 1, 2, 3]);
  });

  it('binds the other groups of the lane', async () => {
    const stage = openWorkers(2);
    const own = { requestsPerMinute: 60, tokensPerMinute: null };
    const [first, second] = cellsOf(stage);
    await ask(first ?? fail(), { limits: own });

    const grants = [0, 1].map(() => ask(second ?? fail(), { group: 'other' }));
    for (let turn = 0; turn < 9; turn += 1) await new Promise(setImmediate);

    expect(await countGrants(stage, grants, [0, 1_999, 1])).toEqual([1, 1, 2]);
  });

  it('that has changed counts from the next call on', async () => {
    const stage = openWorkers(1);
    const cell = theOnly(cellsOf(stage));
    await ask(cell, { limits: { requestsPerMinute: 60, tokensPerMinute: null } });

    const raised = { requestsPerMinute: 600, tokensPerMinute: null };
    const grants = [ask(cell, { limits: raised })];
    await new Promise(setImmediate);

    expect(await countGrants(stage, grants, [100])).toEqual([1]);
  });
});

describe('a lane that answers now and then', () => {
  /** Refuses a call of a worker after some time, and returns whether the lane should be blocked. */
  async function refuseAfter(stage: Workers, ms: number): Promise<boolean> {
    stage.clock.advance(ms);
    return (await call(stage, theOnly(cellsOf(stage)), 0)).hasOnlyRefused;
  }

  it('is not blocked, even if the answer is to a call that was sent long ago', async () => {
    const stage = await openLane(2);
    const late = await takePermit(stage.workers[1]?.forCell() ?? fail(), 'lab');
    await refuseAfter(stage, 2_000);
    await refuseAfter(stage, 200_000);
    await late.settle(answered);

    const isBlocked = [await refuseAfter(stage, 200_000), await refuseAfter(stage, 200_000)];

    expect(isBlocked).toEqual([false, false]);
    expect(await refuseAfter(stage, 200_000)).toBe(true);
  });

  it('is not blocked, even if the answer is to a long call that was sent while the lane was free', async () => {
    const stage = openWorkers(2);
    const long = await takePermit(stage.workers[1]?.forCell() ?? fail(), 'lab');
    await refuseAfter(stage, 0);
    await refuseAfter(stage, 200_000);
    await long.settle(answered);

    const isBlocked = [await refuseAfter(stage, 200_000), await refuseAfter(stage, 200_000)];

    expect(isBlocked).toEqual([false, false]);
  });

  it('is not blocked for two refusals between which nobody called for long', async () => {
    const stage = await openLane(1);
    await refuseAfter(stage, 2_000);

    const isBlocked = [await refuseAfter(stage, 3_600_000), await refuseAfter(stage, 200_000)];

    expect(isBlocked).toEqual([false, false]);
  });

  it('is blocked again by the first refusal after a block', async () => {
    const stage = await openLane(1);
    for (const ms of [2_000, 200_000]) await refuseAfter(stage, ms);
    const first = await refuseAfter(stage, 200_000);

    const again = await refuseAfter(stage, limits.quotaBackoffCapMs);

    expect([first, again]).toEqual([true, true]);
  });

  it('has its limit searched anew by the first answer after a block', async () => {
    const stage = await openLane(1);
    for (const ms of [2_000, 100_000, 100_000, 200_000]) await refuseAfter(stage, ms);
    stage.clock.advance(limits.quotaBackoffCapMs);

    await call(stage, theOnly(cellsOf(stage)), 'answered');

    expect(await stage.paces.read('lab')).toMatchObject({ requests: { phase: 'searching' } });
  });
});

describe('a wait that is too long', () => {
  it.each<[string, Partial<LanePace>]>([
    ['a hold, even while the limit is searched', { heldUntilMs: 2e12 }],
    ['many turns, once the limit is found', { groups: [someTurns({ lastTurn: 100 })] }],
  ])('is %s', async (_, parts) => {
    const phase = parts.heldUntilMs === undefined ? 'found' : 'searching';
    const stage = await openLane(1, {
      requests: aRateBelief({ fellAtMs: 2e12, phase }),
      ...parts,
    });

    expect(await ask(theOnly(cellsOf(stage)))).toMatchObject({ kind: 'not-before' });
  });

  it('ends when it has lasted too long while the limit is searched, however many turns are left', async () => {
    const requests = aRateBelief({ fellAtMs: 2e12, phase: 'searching' });
    const stage = await openLane(1, { requests, groups: [someTurns({ lastTurn: 200 })] });
    const waiting = ask(theOnly(cellsOf(stage)));
    let isOver = false;
    void waiting.then(() => {
      isOver = true;
    });

    while (!isOver) {
      await new Promise(setImmediate);
      stage.clock.advance(stage.clock.nextDueInMs ?? 0);
    }

    expect(await waiting).toMatchObject({ kind: 'not-before' });
    expect(stage.clock.monotonicMs()).toBeLessThanOrEqual(limits.laneWaitMs + 2 * PACE_AGE_MS);
  });

  it('sends the cells back, to return at the pace of the lane from shortly before their turns, and takes none', async () => {
    const requests = aRateBelief({ perMinute: 12, fellAtMs: 2e12 });
    const untilMs = openWorkers(1).clock.now() + 100_000;
    const stage = await openLane(2, { requests, heldUntilMs: untilMs });
    const grants: Grant[] = [];

    for (const cell of cellsOf(stage)) grants.push(await ask(cell));

    const firstMs = untilMs - limits.laneWaitMs / 2;
    expect(grants).toEqual([
      { kind: 'not-before', atMs: firstMs },
      { kind: 'not-before', atMs: firstMs + 5_000 },
    ]);
    expect(stage.paces.log).not.toContain('takeTurns');
  });

  it('is one that the caller has no time for, however short', async () => {
    const stage = await openLane(1, { heldUntilMs: openWorkers(1).clock.now() + 1_000 });

    expect(await ask(theOnly(cellsOf(stage)), { timeMs: 500 })).toMatchObject({
      kind: 'not-before',
    });
  });

  it('ends when the caller is stopped', async () => {
    const stage = await openLane(1, { heldUntilMs: openWorkers(1).clock.now() + 1_000 });
    const controller = new AbortController();
    const waiting = ask(theOnly(cellsOf(stage)), { signal: controller.signal });
    await new Promise(setImmediate);

    controller.abort();

    await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
    expect(stage.clock.sleeperCount).toBe(0);
  });
});

describe('a free lane that has refused a call of late', () => {
  it('takes a call that cannot be counted, and keeps no slot for it', async () => {
    const weighedAtMs = openWorkers(1).clock.now();
    const evidence = { ...aLanePace().evidence, weighedAtMs };
    const stage = await openLane(1, { requests: null, evidence });
    stage.paces.count = () => Promise.reject(anError('store-unavailable'));
    const cell = theOnly(cellsOf(stage));

    for (let no = 0; no < 3; no += 1) {
      const grant = await ask(cell, { maxConcurrency: 1 });
      if (grant.kind !== 'granted') return fail();
      await grant.permit.settle(answered);
    }

    expect(stage.clock.sleeperCount).toBe(0);
  });
});

describe('a lane that nobody has called for a while', () => {
  it('starts again with one call, however many workers ask at once', async () => {
    const stage = await openLane(64);
    stage.clock.advance(3_600_000);
    const grants = cellsOf(stage).map((cell) => ask(cell));

    const counts = await countGrants(stage, grants, [0, 1_000]);

    expect(counts).toEqual([1, 2]);
  });

  it('does not make up for the turns that nobody took', async () => {
    const stage = await openLane(3);
    stage.clock.advance(3_600_000);
    const grants: Promise<Grant>[] = [];
    for (const cell of cellsOf(stage)) {
      grants.push(ask(cell));
      await new Promise(setImmediate);
    }

    const counts = await countGrants(stage, grants, [0, 1_000, 1_000]);

    expect(counts).toEqual([1, 2, 3]);
  });
});
