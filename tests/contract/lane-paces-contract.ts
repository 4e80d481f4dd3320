import type { LanePaces } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aLanePace, aRateBelief, someTurns } from '../support/builders.ts';

/** Fresh paces, of no lane. */
export interface LanePacesUnderTest extends AsyncDisposable {
  readonly paces: LanePaces;
  /** The same store, accessed by another process. */
  readonly other: LanePaces;
}

/** Opens fresh paces. */
export type OpenLanePaces = () => Promise<LanePacesUnderTest>;

/** Tests every promise of the `LanePaces` port. */
export function describeLanePacesContract(name: string, openPaces: OpenLanePaces): void {
  describe(`LanePaces contract: ${name}`, () => {
    it('has no pace of a lane that was never refused', async () => {
      await using store = await openPaces();

      expect(await store.paces.read('lab')).toBeUndefined();
    });

    it('stores the pace of each lane', async () => {
      await using store = await openPaces();
      const groups = [null, someTurns({ lastTurn: 7, lastTokens: 700 })];
      const spare = aLanePace({ lane: 'spare', requests: null, tokens: aRateBelief(), groups });

      const areStored = [
        await store.paces.replace(undefined, aLanePace()),
        await store.paces.replace(undefined, spare),
      ];

      expect(areStored).toEqual([true, true]);
      expect(await store.other.read('lab')).toEqual(aLanePace());
      expect(await store.other.read('spare')).toEqual(spare);
    });

    it('stores only the first of two first paces', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());

      const isStored = await store.other.replace(undefined, aLanePace({ token: 'b' }));

      expect(isStored).toBe(false);
      expect(await store.paces.read('lab')).toEqual(aLanePace());
    });

    it('changes a pace only if nobody else has changed it', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      const answered = { refusedSinceMs: null, answeredAtMs: 1_767_323_046_000 };
      const faster = aLanePace({
        token: 'b',
        requests: aRateBelief({ perMinute: 120 }),
        ...answered,
      });

      const areStored = [
        await store.paces.replace(aLanePace(), faster),
        await store.other.replace(aLanePace(), aLanePace({ token: 'c' })),
      ];

      expect(areStored).toEqual([true, false]);
      expect(await store.other.read('lab')).toEqual(faster);
    });

    it('gives each turn once, however many processes take some at the same time', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      const processes = Array.from({ length: 20 }, (_, no) =>
        no % 2 === 0 ? store.paces : store.other,
      );

      const taken = await Promise.all(
        processes.map((paces) => paces.takeTurns('lab', 0, { count: 2, tokens: 50 })),
      );

      const lastTurns = taken.map(({ groups }) => groups[0]?.lastTurn ?? 0);
      expect(lastTurns.toSorted((left, right) => left - right)).toEqual(
        Array.from({ length: 20 }, (_, index) => 2 * index + 2),
      );
      const groups = [someTurns({ lastTurn: 40, lastTokens: 1_000 })];
      expect(await store.paces.read('lab')).toEqual(aLanePace({ groups, callCount: 40 }));
    });

    it('returns the pace with the turns that were taken', async () => {
      await using store = await openPaces();
      const groups = [someTurns(), someTurns({ group: 'other', lastTurn: 4 })];
      await store.paces.replace(undefined, aLanePace({ groups }));

      const pace = await store.other.takeTurns('lab', 1, { count: 3, tokens: -20 });

      const taken = someTurns({ group: 'other', lastTurn: 7, lastTokens: -20 });
      expect(pace).toEqual(aLanePace({ groups: [someTurns(), taken], callCount: 3 }));
    });

    it('keeps the turns that were taken when the pace changes', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      await store.paces.takeTurns('lab', 0, { count: 1, tokens: 100 });

      await store.other.replace(aLanePace(), aLanePace({ token: 'b' }));

      const groups = [someTurns({ lastTurn: 1, lastTokens: 100 })];
      expect(await store.paces.read('lab')).toEqual(
        aLanePace({ token: 'b', groups, callCount: 1 }),
      );
    });

    it('gives turns again that a change of the pace gives up', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      await store.paces.takeTurns('lab', 0, { count: 5, tokens: 500 });
      const existing = await store.other.read('lab');
      const groups = [someTurns({ lastTurn: 2, lastTokens: 200 })];

      await store.other.replace(existing, aLanePace({ groups, token: 'b' }));

      const pace = await store.paces.takeTurns('lab', 0, { count: 1, tokens: 100 });
      expect(pace.groups).toEqual([someTurns({ lastTurn: 3, lastTokens: 300 })]);
    });

    it('counts the turns of a group anew that gets the place of another', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      await store.paces.takeTurns('lab', 0, { count: 5, tokens: 500 });
      const existing = await store.other.read('lab');
      await store.paces.replace(existing, aLanePace({ groups: [null], token: 'b' }));
      const left = await store.paces.read('lab');
      const groups = [someTurns({ group: 'next' })];

      await store.other.replace(left, aLanePace({ groups, token: 'c' }));

      expect(await store.paces.read('lab')).toEqual(
        aLanePace({ groups, token: 'c', callCount: 5 }),
      );
    });

    it('counts calls, turns among them, and refusals, whatever changes the pace', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      await store.other.count('lab', { calls: 20, refusals: 0 });
      await store.paces.takeTurns('lab', 0, { count: 3, tokens: 300 });

      await store.paces.replace(aLanePace(), aLanePace({ token: 'b' }));
      const counted = await store.other.count('lab', { calls: 0, refusals: 1 });

      const groups = [someTurns({ lastTurn: 3, lastTokens: 300 })];
      const pace = aLanePace({ token: 'b', groups, callCount: 23, refusalCount: 1 });
      expect(counted).toEqual(pace);
      expect(await store.paces.read('lab')).toEqual(pace);
    });

    it('reserves times of return an interval apart, and from the start of the range again after its end', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      const range = { earliestMs: 1_000, latestMs: 3_500, intervalMs: 1_000 };
      const times: number[] = [];

      for (let cell = 0; cell < 4; cell += 1) {
        times.push(await (cell % 2 === 0 ? store.paces : store.other).reserveReturn('lab', range));
      }
      const later = await store.paces.reserveReturn('lab', { ...range, earliestMs: 3_000 });

      expect([...times, later]).toEqual([1_000, 2_000, 3_000, 1_000, 3_000]);
      expect(await store.paces.read('lab')).toEqual(aLanePace());
    });

    it('reserves times from the start of the range again also where intervals are no whole milliseconds', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      const startMs = 1_767_323_045_123.386_7;
      const range = { earliestMs: startMs, latestMs: startMs + 2_500, intervalMs: 1_000 / 1.008 };
      const times: number[] = [];

      for (let cell = 0; cell < 4; cell += 1) {
        times.push(await store.paces.reserveReturn('lab', range));
      }

      expect(times.map((timeMs) => Math.round(timeMs - startMs))).toEqual([0, 992, 1_984, 0]);
    });

    it('reserves each time once, however many processes ask at the same time', async () => {
      await using store = await openPaces();
      await store.paces.replace(undefined, aLanePace());
      const range = { earliestMs: 1_000, latestMs: 90_000, intervalMs: 1_000 };
      const processes = Array.from({ length: 20 }, (_, no) =>
        no % 2 === 0 ? store.paces : store.other,
      );

      const times = await Promise.all(processes.map((paces) => paces.reserveReturn('lab', range)));

      expect(new Set(times).size).toBe(20);
    });
  });
}
