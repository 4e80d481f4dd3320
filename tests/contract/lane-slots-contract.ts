import type { LaneSlots, SlotGroups, SlotUse, TakenSlot } from '@thrice/core';
import { describe, expect, it } from 'vitest';

/** Fresh slots, of no lane. */
export interface LaneSlotsUnderTest extends AsyncDisposable {
  readonly slots: LaneSlots;
  /** The same store, accessed by another process. */
  readonly other: LaneSlots;
}

/** Opens fresh slots. */
export type OpenLaneSlots = () => Promise<LaneSlotsUnderTest>;

const NOW_MS = 1_767_323_045_000;
const UNTIL_MS = NOW_MS + 60_000;

/** Groups that call the lane `lab`, each with a limit of 4. */
function groupsOf(names: readonly (string | null)[], token = 'a'): SlotGroups {
  const groups = names.map((group) => group && { group, maxConcurrency: 4 });
  return { schemaVersion: 1, lane: 'lab', groups: groups.map((each) => each || null), token };
}

/** A slot of the first group, which may have all of the four. */
function aSlot(id: string, parts: Partial<TakenSlot> = {}): TakenSlot {
  const times = { nowMs: NOW_MS, untilMs: UNTIL_MS, unlessWaitedSinceMs: undefined };
  const bounds = { limit: 4, groupLimit: 4 };
  return { id, place: 0, ...times, served: undefined, token: 'a', ...bounds, ...parts };
}

async function openLab(open: OpenLaneSlots, names: readonly (string | null)[] = ['demo', 'next']) {
  const store = await open();
  await store.slots.replace(undefined, groupsOf(names), NOW_MS);
  return store;
}

async function readLab(slots: LaneSlots): Promise<SlotUse> {
  const use = await slots.read('lab');
  if (use === undefined) throw new Error('expected the slots of lab');
  return use;
}

/** Tests every promise of the `LaneSlots` port. */
export function describeLaneSlotsContract(name: string, openSlots: OpenLaneSlots): void {
  describe(`LaneSlots contract: ${name}`, () => {
    it('has no slots of a lane that no group with a limit has called', async () => {
      await using store = await openSlots();

      expect(await store.slots.read('lab')).toBeUndefined();
    });

    it('stores the groups of each lane, of which none has a slot', async () => {
      await using store = await openLab(openSlots, [null, 'demo']);

      const none = { inUse: 0, lastJoined: 0, lastServed: 0, usedAtMs: NOW_MS, waitedAtMs: 0 };
      expect(await store.other.read('lab')).toEqual({
        ...groupsOf([null, 'demo']),
        groups: [null, { group: 'demo', maxConcurrency: 4, ...none }],
        held: [],
        inUse: 0,
        callMs: null,
      });
      expect(await store.other.read('spare')).toBeUndefined();
    });

    it('stores only the first of two first groups, and changes of what is still there', async () => {
      await using store = await openLab(openSlots, ['demo']);
      const read = await readLab(store.slots);

      const areStored = [
        await store.other.replace(undefined, groupsOf(['other'], 'b'), NOW_MS),
        await store.slots.replace(read, groupsOf(['demo', 'next'], 'c'), NOW_MS),
        await store.other.replace(read, groupsOf(['demo', 'late'], 'd'), NOW_MS),
      ];

      expect(areStored).toEqual([false, true, false]);
      const { groups, token } = await readLab(store.other);
      expect([groups.map((each) => each?.group), token]).toEqual([['demo', 'next'], 'c']);
    });

    it('gives no more slots than there are, however many workers ask at the same time', async () => {
      await using store = await openLab(openSlots);

      const taken = await Promise.all(
        Array.from({ length: 20 }, (_, no) =>
          (no % 2 === 0 ? store.slots : store.other).take('lab', aSlot(`slot-${no}`)),
        ),
      );

      expect(taken.filter(({ isTaken }) => isTaken)).toHaveLength(4);
      const use = await readLab(store.slots);
      expect([use.inUse, use.held.length, use.groups[0]?.inUse]).toEqual([4, 4, 4]);
      expect(use.held.map(({ untilMs }) => untilMs)).toEqual(Array(4).fill(UNTIL_MS));
    });

    it('gives a group no more than its part, and returns the slots as they are with a refusal', async () => {
      await using store = await openLab(openSlots);
      await store.slots.take('lab', aSlot('one', { groupLimit: 1 }));

      const refused = await store.other.take('lab', aSlot('two', { groupLimit: 1 }));
      const ofOther = await store.other.take('lab', aSlot('three', { groupLimit: 1, place: 1 }));

      expect([refused.isTaken, ofOther.isTaken]).toEqual([false, true]);
      expect(refused.use?.groups.map((each) => each?.inUse)).toEqual([1, 0]);
      expect(ofOther.use?.groups.map((each) => each?.inUse)).toEqual([1, 1]);
    });

    it('refuses a slot to a worker that does not know of all groups', async () => {
      await using store = await openLab(openSlots, ['demo']);
      const read = await readLab(store.slots);
      await store.other.replace(read, groupsOf(['demo', 'next'], 'b'), NOW_MS);

      const refused = await store.slots.take('lab', aSlot('one'));
      const granted = await store.slots.take('lab', aSlot('one', { token: 'b' }));

      expect([refused.isTaken, granted.isTaken]).toEqual([false, true]);
      expect(refused.use?.token).toBe('b');
    });

    it('refuses a slot to a worker that has not seen that others wait', async () => {
      await using store = await openLab(openSlots);
      await store.other.join('lab', { place: 1, nowMs: NOW_MS });

      const before = { unlessWaitedSinceMs: NOW_MS - 1 };
      const refused = await store.slots.take('lab', aSlot('one', before));
      const granted = await store.slots.take('lab', aSlot('one', { unlessWaitedSinceMs: NOW_MS }));

      expect([refused.isTaken, granted.isTaken]).toEqual([false, true]);
    });

    it('counts a slot that is taken twice once: a response was lost', async () => {
      await using store = await openLab(openSlots);
      await store.slots.take('lab', aSlot('one'));

      await store.slots.take('lab', aSlot('one'));

      expect((await readLab(store.slots)).inUse).toBe(1);
    });

    it('frees a slot that is returned, once, and keeps how long calls take', async () => {
      await using store = await openLab(openSlots);
      await store.slots.take('lab', aSlot('one'));
      await store.slots.take('lab', aSlot('two'));
      const end = { nowMs: NOW_MS + 2_000, callMs: 2_000 };

      await store.slots.giveBack('lab', { id: 'one', place: 0 }, end);
      await store.other.giveBack('lab', { id: 'one', place: 0 }, { ...end, callMs: 9_000 });

      const use = await readLab(store.other);
      expect([use.inUse, use.groups[0]?.inUse, use.held.length, use.callMs]).toEqual([
        1, 1, 1, 2_000,
      ]);
      expect(use.groups[0]?.usedAtMs).toBe(NOW_MS + 2_000);
    });

    it('extends a slot that is held', async () => {
      await using store = await openLab(openSlots);
      await store.slots.take('lab', aSlot('one'));

      const areExtended = [
        await store.slots.extend('lab', { id: 'one', place: 0 }, UNTIL_MS + 20_000),
        await store.slots.extend('lab', { id: 'two', place: 0 }, UNTIL_MS + 20_000),
      ];

      expect(areExtended).toEqual([true, false]);
      const { held } = await readLab(store.other);
      expect(held.map(({ untilMs }) => untilMs)).toEqual([UNTIL_MS + 20_000]);
    });

    it('frees a slot whose holder has died, once, unless it was extended since', async () => {
      await using store = await openLab(openSlots);
      await store.slots.take('lab', aSlot('one'));
      await store.slots.take('lab', aSlot('two', { place: 1 }));
      const { held } = await readLab(store.other);
      await store.slots.extend('lab', { id: 'two', place: 1 }, UNTIL_MS + 20_000);

      for (const slot of [...held, ...held]) await store.other.free('lab', slot, slot.untilMs);

      const use = await readLab(store.slots);
      expect([use.inUse, ...use.groups.map((each) => each?.inUse)]).toEqual([1, 0, 1]);
      expect(await store.slots.extend('lab', { id: 'one', place: 0 }, UNTIL_MS)).toBe(false);
    });

    it('gives each caller of a line a number of its own, however many join at the same time', async () => {
      await using store = await openLab(openSlots);

      const joined = await Promise.all(
        Array.from({ length: 10 }, (_, no) =>
          (no % 2 === 0 ? store.slots : store.other).join('lab', {
            place: no < 8 ? 0 : 1,
            nowMs: NOW_MS,
          }),
        ),
      );

      const numbers = joined.slice(0, 8).map(({ groups }) => groups[0]?.lastJoined ?? 0);
      expect(numbers.toSorted((left, right) => left - right)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      const { groups } = await readLab(store.slots);
      expect(groups.map((each) => each?.lastJoined)).toEqual([8, 2]);
      expect(groups.map((each) => each?.waitedAtMs)).toEqual([NOW_MS, NOW_MS]);
    });

    it('notes who was served, and who still waits', async () => {
      await using store = await openLab(openSlots);
      await store.slots.join('lab', { place: 0, nowMs: NOW_MS });

      await store.slots.take('lab', aSlot('one', { served: 1 }));
      await store.other.noteWaiting('lab', { place: 0, nowMs: NOW_MS + 3_000 });

      const [own] = (await readLab(store.slots)).groups;
      expect(own).toMatchObject({ lastServed: 1, waitedAtMs: NOW_MS + 3_000 });
    });

    it('keeps what groups use that keep their place, and counts anew where another comes', async () => {
      await using store = await openLab(openSlots, ['demo', 'gone']);
      await store.slots.take('lab', aSlot('one'));
      await store.slots.join('lab', { place: 1, nowMs: NOW_MS });
      const read = await readLab(store.slots);

      await store.other.replace(read, groupsOf(['demo', 'next'], 'b'), NOW_MS + 5_000);

      const [demo, next] = (await readLab(store.slots)).groups;
      expect([demo?.inUse, next?.inUse, next?.lastJoined]).toEqual([1, 0, 0]);
      expect([next?.usedAtMs, next?.waitedAtMs]).toEqual([NOW_MS + 5_000, 0]);
    });

    it('has no group leave that has taken a slot since', async () => {
      await using store = await openLab(openSlots, ['demo', 'gone']);
      const read = await readLab(store.slots);
      await store.other.take('lab', aSlot('one', { place: 1 }));

      const isStored = await store.slots.replace(read, groupsOf(['demo', null], 'b'), NOW_MS);

      expect(isStored).toBe(false);
      expect((await readLab(store.slots)).groups[1]?.group).toBe('gone');
    });

    it('reserves times of return an interval apart, and from the start of the range again after its end', async () => {
      await using store = await openLab(openSlots);
      const range = { earliestMs: 1_000, latestMs: 3_500, intervalMs: 1_000 };
      const times: number[] = [];

      for (let cell = 0; cell < 4; cell += 1) {
        times.push(await (cell % 2 === 0 ? store.slots : store.other).reserveReturn('lab', range));
      }

      expect(times).toEqual([1_000, 2_000, 3_000, 1_000]);
    });
  });
}
