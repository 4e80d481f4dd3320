import { groupKey, limits, reconcileGroups } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { ReconcilerEvent } from '../../../packages/core/src/reconcile/reconcile-groups.ts';
import { anError, anOpenBreaker } from '../../support/builders.ts';
import { FakeStage } from '../../support/fake-stage.ts';

const MINUTE_MS = 60_000;
const GROUP_COUNT = 10_000;

/** A stage with many groups of one cell on two lanes, none of which makes progress. */
async function busyStage(groupCount = GROUP_COUNT): Promise<FakeStage> {
  const stage = new FakeStage();
  for (let no = 0; no < groupCount; no += 1) {
    const model = no % 2 === 0 ? 'lab/m' : 'spare/m';
    await stage.enter({ group: nameOf(no), configs: [{ name: 'direct', model }] });
  }
  return stage;
}

/** Names in another order than that of their creation. */
function nameOf(no: number): string {
  return `g${String((no * 7_919) % GROUP_COUNT).padStart(5, '0')}`;
}

/** Records which groups are read, and how many reads are in flight at most. */
function watchReads(stage: FakeStage) {
  const seen = { groups: [] as string[], tallies: 0, inFlight: 0, mostInFlight: 0 };
  const { ledger } = stage;
  const [readGroup, readTallies] = [ledger.readGroup.bind(ledger), ledger.readTallies.bind(ledger)];
  ledger.readGroup = async (group) => {
    seen.groups.push(group);
    seen.inFlight += 1;
    seen.mostInFlight = Math.max(seen.mostInFlight, seen.inFlight);
    await Promise.resolve();
    seen.inFlight -= 1;
    return await readGroup(group);
  };
  ledger.readTallies = async (run) => {
    seen.tallies += 1;
    return await readTallies(run);
  };
  return seen;
}

/** A limit of time that runs out after so many groups have been read. */
function outOfTimeAfter(seen: { readonly groups: readonly string[] }, groupCount: number) {
  const until = seen.groups.length + groupCount;
  return () => seen.groups.length >= until;
}

describe('a round of the reconciler over 10,000 groups', () => {
  it('reads each group once, some at a time, and counts each lane once', async () => {
    const stage = await busyStage();
    await reconcileGroups(stage, () => undefined);
    stage.clock.advance(MINUTE_MS);
    const seen = watchReads(stage);

    await reconcileGroups(stage, () => undefined);

    expect(seen.groups).toHaveLength(GROUP_COUNT);
    expect(new Set(seen.groups).size).toBe(GROUP_COUNT);
    expect(seen.tallies).toBe(GROUP_COUNT);
    expect(seen.mostInFlight).toBeGreaterThan(16);
    expect(seen.mostInFlight).toBeLessThanOrEqual(32);
    expect(stage.tasks.countedLanes.toSorted()).toEqual(['lab', 'spare']);
  });

  it('believes that any of them is halted only after two readings of empty queues', async () => {
    const stage = await busyStage(1_000);
    const halted: number[] = [];

    for (let round = 0; round < 3; round += 1) {
      await reconcileGroups(stage, () => undefined);
      halted.push(stage.requests.results.filter(({ isHalted }) => isHalted === true).length);
      stage.clock.advance(MINUTE_MS);
    }

    expect(halted).toEqual([0, 0, 1_000]);
  });

  it('serves all of them in turn, those served longest ago first, when time runs out', async () => {
    const stage = await busyStage();
    const seen = watchReads(stage);
    const events: ReconcilerEvent[] = [];

    for (let round = 0; round < 6; round += 1) {
      await reconcileGroups(stage, (event) => events.push(event), outOfTimeAfter(seen, 3_333));
    }

    const firstTurn = seen.groups.slice(0, GROUP_COUNT);
    expect(new Set(firstTurn).size).toBe(GROUP_COUNT);
    expect(seen.groups.slice(GROUP_COUNT)).toEqual(
      firstTurn.slice(0, seen.groups.length - GROUP_COUNT),
    );
    expect(events[0]).toMatchObject({ kind: 'out-of-time', groupCount: GROUP_COUNT });
  });

  it('does not start at the same group again when the function is killed', async () => {
    const stage = await busyStage(2_000);
    const seen = watchReads(stage);
    const { readGroup } = stage.ledger;
    stage.ledger.readGroup = async (group) =>
      seen.groups.length < 1_200 ? await readGroup(group) : await new Promise(() => undefined);
    const killed = reconcileGroups(stage, () => undefined);
    await Promise.race([killed, untilRead(seen, 1_200)]);
    stage.ledger.readGroup = readGroup;
    const servedBefore = new Set(seen.groups);
    seen.groups.length = 0;

    await reconcileGroups(stage, () => undefined, outOfTimeAfter(seen, 900));

    const again = seen.groups.filter((group) => servedBefore.has(group));
    expect(servedBefore.size).toBe(1_200);
    // Those since the last mark.
    expect(again.length).toBeLessThanOrEqual(232);
  });

  it('writes how far it is only when it cannot serve all in one go', async () => {
    const stage = await busyStage(400);

    await reconcileGroups(stage, () => undefined);

    expect(stage.activeGroups.log.filter((method) => method === 'writeLastServed')).toEqual([]);
  });
});

describe('a failure in a round of the reconciler', () => {
  it('stops no other group, deferred cells or breaker, and is thrown at the end', async () => {
    const stage = await busyStage(100);
    const bad = nameOf(50);
    const openedAt = stage.clock.toIso(stage.clock.now());
    for (const breakerKey of ['lab/x', 'lab/y', 'lab/z']) {
      await stage.ledger.openBreaker(anOpenBreaker({ breakerKey, openedAt }));
    }
    for (let no = 0; no < 100; no += 1) await stage.activeGroups.defer('lab', nameOf(no));
    stage.clock.advance(limits.quotaBackoffBaseMs);
    const { ledger } = stage;
    const [readGroup, closeBreaker] = [
      ledger.readGroup.bind(ledger),
      ledger.closeBreaker.bind(ledger),
    ];
    ledger.readGroup = async (group) => {
      if (group === bad) throw anError('store-unusable');
      return await readGroup(group);
    };
    ledger.closeBreaker = async (breaker) => {
      if (breaker.breakerKey === 'lab/y') throw anError('store-unavailable');
      return await closeBreaker(breaker);
    };

    const round = reconcileGroups(stage, () => undefined);

    await expect(round).rejects.toMatchObject({ code: 'store-unavailable' });
    const progress = (no: number) => stage.blobs.texts.has(groupKey(nameOf(no), 'progress.json'));
    const served = Array.from({ length: 100 }, (_, no) => no).filter(progress);
    expect(served).toHaveLength(99);
    expect(await stage.deferred()).toEqual([`lab ${bad}`]);
    const left = (await ledger.listOpenBreakers()).map(({ breakerKey }) => breakerKey);
    expect(left).toEqual(['lab/y']);
  });
});

describe('a half-open breaker that a thousand groups wait for', () => {
  it('gets one task, of a group that is active, and those of all groups in the next round', async () => {
    const stage = await busyStage(1_000);
    const openedAt = stage.clock.toIso(stage.clock.now());
    await stage.ledger.openBreaker(anOpenBreaker({ breakerKey: 'lab', openedAt }));
    for (let no = 0; no < 1_000; no += 1) await stage.activeGroups.defer('lab', nameOf(no));
    await stage.ledger.setGroupState(nameOf(0), 'cancelled');
    stage.clock.advance(limits.quotaBackoffBaseMs);

    await reconcileGroups(stage, () => undefined);
    const probes = [...stage.requests.tasks];
    await reconcileGroups(stage, () => undefined);

    const probe = { v: 1, group: nameOf(1), kind: 'refill', breakerKey: 'lab', limit: 1 };
    expect(probes).toEqual([probe]);
    expect(stage.requests.tasks.length - probes.length).toBe(999);
    expect(await stage.deferred()).toEqual([]);
  });
});

async function untilRead(seen: { readonly groups: readonly string[] }, count: number) {
  while (seen.groups.length < count) await new Promise(setImmediate);
}
