import { type Governor, type Grant, type LanePace, limits, SharedGovernor } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLanePaces } from '../../support/fake-lane-paces.ts';
import { answered, refused, takePermit } from '../../support/permits.ts';

/** How long a worker relies on the pace that it has read, ms. */
const PACE_AGE_MS = 2_000;

function fail(): never {
  throw new Error('expected a worker and a pace');
}

/** Workers of a stage, each a process of its own. */
function openWorkers(count: number, random = () => 0) {
  const clock = new FakeClock();
  const paces = new FakeLanePaces();
  let tokenNo = 0;
  const createToken = () => {
    tokenNo += 1;
    return `token-${tokenNo}`;
  };
  const workers = Array.from(
    { length: count },
    () => new SharedGovernor({ paces, clock, random, createToken }),
  );
  return { clock, paces, workers };
}

type Workers = ReturnType<typeof openWorkers>;

/** Returns the cells of new invocations, one of each worker. */
function cellsOf({ workers }: Workers): readonly Governor[] {
  return workers.map((worker) => worker.forCell());
}

/** Asks for a permit of a cell that has this much time. */
function ask(governor: Governor, timeMs = 600_000, signal = new AbortController().signal) {
  const canWait = (waitMs: number) => waitMs <= timeMs;
  return governor.grant({
    lane: 'lab',
    model: 'm',
    inputTokens: 10,
    estimatedTokens: null,
    canWait,
    signal,
  });
}

/** A lane that has refused one call and takes the next ones two seconds later. */
async function limitedLane(count: number, random?: () => number): Promise<Workers> {
  const stage = openWorkers(count, random);
  const [first] = cellsOf(stage);
  if (first === undefined) throw new Error('expected a worker');
  await (await takePermit(first, 'lab')).settle(refused(1_000));
  stage.clock.advance(1_000);
  return stage;
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
    await new Promise(setImmediate);
    counts.push(count);
  }
  return counts;
}

describe('a lane that has refused nothing', () => {
  it('takes all calls at once, and each process reads its pace every two seconds at most', async () => {
    const { clock, paces, workers } = openWorkers(1);

    for (let call = 0; call < 40; call += 1) {
      for (const worker of workers) {
        const permit = await takePermit(worker.forCell(), 'lab');
        expect(permit.waitMs).toBe(0);
        await permit.settle(answered);
      }
      clock.advance(100);
    }

    expect(paces.log).toEqual(['read', 'read']);
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
    const stage = await limitedLane(1);
    const readAtMs = stage.clock.monotonicMs() - 1_000;

    for (const worker of stage.workers) worker.notePace('lab', undefined, readAtMs);
    const grants = cellsOf(stage).map((cell) => ask(cell));

    expect(await countGrants(stage, grants, [999, 1])).toEqual([0, 1]);
  });
});

describe('a refusal', () => {
  it('holds the lane for all workers, and lets one call at a time through after', async () => {
    const stage = await limitedLane(4);
    const grants = cellsOf(stage).map((cell) => ask(cell));

    // The hold ends after two seconds, of which one has passed.
    const counts = await countGrants(stage, grants, [999, 1, 999, 1, 1_000, 1_000]);

    expect(counts).toEqual([0, 1, 1, 2, 3, 4]);
  });

  it('of calls in flight together slows the lane down once', async () => {
    const stage = openWorkers(64);
    const permits = await Promise.all(cellsOf(stage).map((cell) => takePermit(cell, 'lab')));

    for (const permit of permits) await permit.settle(refused(1_000));

    expect(stage.paces.log.filter((method) => method === 'replace')).toEqual(['replace']);
    expect(await stage.paces.read('lab')).toMatchObject({ intervalMs: 1_000 });
  });

  it('of a call that was sent before its process knew of the limit does not slow it down again', async () => {
    const stage = openWorkers(2);
    const [first, second] = await Promise.all(
      cellsOf(stage).map((cell) => takePermit(cell, 'lab')),
    );
    await first?.settle(refused(1_000));
    stage.clock.advance(60_000);

    await second?.settle(refused(1_000));

    expect(await stage.paces.read('lab')).toMatchObject({ intervalMs: 1_000 });
  });

  it('delays no more than the vendor asks: the refused call is the first after the hold', async () => {
    const stage = await limitedLane(3);
    const [cell, ...others] = cellsOf(stage);
    if (cell === undefined) throw new Error('expected a worker');
    stage.clock.advance(1_000);
    const permit = await takePermit(cell, 'lab');
    const waiting = others.map((other) => ask(other));
    await new Promise(setImmediate);
    await permit.settle(refused(5_000));

    const again = ask(cell);
    stage.clock.advance(2_000);
    await new Promise(setImmediate);
    const counts = await countGrants(stage, [again, ...waiting], [2_999, 1, 1_999, 1]);

    expect(counts).toEqual([0, 1, 1, 2]);
  });
});

describe('the pace of a limited lane', () => {
  it('comes back with answers until no call needs a turn', async () => {
    const stage = await limitedLane(1);
    const intervals: (number | undefined)[] = [];

    for (let call = 0; call < 8; call += 1) {
      stage.clock.advance(2_000);
      for (const cell of cellsOf(stage)) await (await takePermit(cell, 'lab')).settle(answered);
      intervals.push((await stage.paces.read('lab'))?.intervalMs);
    }

    expect(intervals).toEqual([500, 250, 125, 62.5, 31.25, 15.625, 0, 0]);
  });

  it('is found between the last answers and the first refusal, and creeps up from there', async () => {
    const stage = await limitedLane(1);
    const pace = await stage.paces.read('lab');
    if (pace === undefined) throw new Error('expected a pace');
    await stage.paces.replace(pace, { ...pace, intervalMs: 200, token: 'fast' });
    stage.clock.advance(60_000);
    const [cell] = cellsOf(stage);
    if (cell === undefined) throw new Error('expected a worker');

    await (await takePermit(cell, 'lab')).settle(refused(500));

    expect(await stage.paces.read('lab')).toMatchObject({ intervalMs: 400, isSearching: false });
  });
});

describe('a lane that answers now and then', () => {
  /** Refuses a call of a worker after some time, and returns whether the lane should be blocked. */
  async function refuseAfter(stage: Workers, ms: number): Promise<boolean> {
    stage.clock.advance(ms);
    const [cell] = cellsOf(stage);
    if (cell === undefined) throw new Error('expected a worker');
    const waiting = takePermit(cell, 'lab');
    await new Promise(setImmediate);
    stage.clock.advance(stage.clock.nextDueInMs ?? 0);
    return (await (await waiting).settle(refused(0))).hasOnlyRefused;
  }

  it('is not blocked, even if the answer comes when its pace has changed', async () => {
    const stage = await limitedLane(2);
    stage.clock.advance(2_000);
    const late = await takePermit(stage.workers[1]?.forCell() ?? fail(), 'lab');
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
    const stage = await limitedLane(1);

    const isBlocked = [await refuseAfter(stage, 3_600_000), await refuseAfter(stage, 200_000)];

    expect(isBlocked).toEqual([false, false]);
  });

  it('is blocked again by the first refusal after a block', async () => {
    const stage = await limitedLane(1);
    await refuseAfter(stage, 200_000);
    const first = await refuseAfter(stage, 200_000);

    const again = await refuseAfter(stage, limits.halfOpenAfterMs);

    expect([first, again]).toEqual([true, true]);
  });

  it('has its limit searched anew by the first answer after a block', async () => {
    const stage = await limitedLane(1);
    for (const ms of [100_000, 100_000, 200_000]) await refuseAfter(stage, ms);
    const blocked = await stage.paces.read('lab');
    stage.clock.advance(limits.halfOpenAfterMs);

    for (const cell of cellsOf(stage)) await (await takePermit(cell, 'lab')).settle(answered);

    const intervalMs = (blocked?.intervalMs ?? 0) / 2;
    expect(await stage.paces.read('lab')).toMatchObject({ intervalMs, isSearching: true });
  });
});

describe('a wait that is too long', () => {
  it.each<[string, number, Partial<LanePace>]>([
    ['a hold, even while the limit is searched', 0, { isSearching: true }],
    ['many turns, once the limit is found', 30, { intervalMs: 5_000, isSearching: false }],
  ])('is %s', async (_, turns, own) => {
    const stage = await limitedLane(2);
    for (let turn = 0; turn < turns; turn += 1) await stage.paces.takeTurn('lab');
    const pace = (await stage.paces.read('lab')) ?? fail();
    const holdMs = turns > 0 ? 0 : limits.laneWaitMs + 1;
    const baseAtMs = stage.clock.now() + PACE_AGE_MS + holdMs;
    await stage.paces.replace(pace, { ...pace, ...own, baseAtMs, token: 'slow' });
    stage.clock.advance(PACE_AGE_MS);

    expect(await ask(stage.workers[1]?.forCell() ?? fail())).toMatchObject({ kind: 'not-before' });
  });

  it('ends when it has lasted too long while the limit is searched, however many turns are left', async () => {
    const stage = await limitedLane(2);
    for (let turn = 0; turn < 200; turn += 1) await stage.paces.takeTurn('lab');
    const waiting = ask(stage.workers[1]?.forCell() ?? fail());
    const startedMs = stage.clock.monotonicMs();
    let isOver = false;
    void waiting.then(() => {
      isOver = true;
    });

    while (!isOver) {
      await new Promise(setImmediate);
      stage.clock.advance(stage.clock.nextDueInMs ?? 0);
    }

    expect(await waiting).toMatchObject({ kind: 'not-before' });
    expect(stage.clock.monotonicMs() - startedMs).toBeLessThanOrEqual(
      limits.laneWaitMs + 2 * PACE_AGE_MS,
    );
  });

  it('sends the cells back, to return at the pace of the lane from shortly before their turns, and takes none', async () => {
    const stage = await limitedLane(3);
    const pace = (await stage.paces.read('lab')) ?? fail();
    const untilMs = stage.clock.now() + 100_000;
    const slow = { isSearching: false, baseAtMs: untilMs, intervalMs: 5_000, token: 'slow' };
    await stage.paces.replace(pace, { ...pace, ...slow });
    stage.clock.advance(2_000);
    const grants: Grant[] = [];

    for (const cell of cellsOf(stage).slice(1)) grants.push(await ask(cell));

    const firstMs = untilMs - limits.laneWaitMs / 2;
    expect(grants).toEqual([
      { kind: 'not-before', atMs: firstMs },
      { kind: 'not-before', atMs: firstMs + 5_000 },
    ]);
    expect(stage.paces.log).not.toContain('takeTurn');
  });

  it('is one that the caller has no time for, however short', async () => {
    const stage = await limitedLane(1);
    const [cell] = cellsOf(stage);
    if (cell === undefined) throw new Error('expected a worker');

    expect(await ask(cell, 500)).toMatchObject({ kind: 'not-before' });
  });

  it('ends when the caller is stopped', async () => {
    const stage = await limitedLane(1);
    const [cell] = cellsOf(stage);
    if (cell === undefined) throw new Error('expected a worker');
    const controller = new AbortController();
    const waiting = ask(cell, 600_000, controller.signal);
    await new Promise(setImmediate);

    controller.abort();

    await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
    expect(stage.clock.sleeperCount).toBe(0);
  });
});

describe('a call that was refused long ago', () => {
  it('does not set the turns of all others back when it comes again', async () => {
    const stage = await limitedLane(1);
    const [cell] = cellsOf(stage);
    if (cell === undefined) throw new Error('expected a worker');
    stage.clock.advance(2_000);
    await (await takePermit(cell, 'lab')).settle(refused(1_000));
    for (let turn = 0; turn < 50; turn += 1) await stage.paces.takeTurn('lab');
    stage.clock.advance(600_000);

    await (await takePermit(cell, 'lab')).settle({ kind: 'failed' });
    const next = await ask(stage.workers[0]?.forCell() ?? cell);

    expect(next).toMatchObject({ kind: 'granted', permit: { waitMs: 0 } });
  });
});

describe('a lane whose pace falls so far that callers give up their turns', () => {
  it('gives those turns to the next callers, and does not stand still until they have passed', async () => {
    const stage = await limitedLane(2);
    const [cell, other] = cellsOf(stage);
    stage.clock.advance(2_000);
    const permit = await takePermit(cell ?? fail(), 'lab');
    const pace = (await stage.paces.read('lab')) ?? fail();
    for (let turn = 0; turn < 60; turn += 1) await stage.paces.takeTurn('lab');
    const slow = { intervalMs: 20_000, isSearching: false, refusedAtMs: 0, token: 'slow' };
    await stage.paces.replace(pace, { ...pace, ...slow });
    await permit.settle(refused(0));
    stage.clock.advance(3 * 30_000);

    const grant = ask(other ?? fail());
    stage.clock.advance(60_000);

    expect(await grant).toMatchObject({ kind: 'granted' });
  });
});

describe('a lane that nobody has called for a while', () => {
  it('starts again with one call, however many workers ask at once', async () => {
    const stage = await limitedLane(64);
    stage.clock.advance(3_600_000);
    const grants = cellsOf(stage).map((cell) => ask(cell));

    const counts = await countGrants(stage, grants, [0, 1_000]);

    expect(counts).toEqual([1, 2]);
  });

  it('does not make up for the turns that nobody took', async () => {
    const stage = await limitedLane(3);
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
