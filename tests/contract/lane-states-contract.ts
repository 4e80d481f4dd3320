import type { LaneStates } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { unknownLane } from '../../packages/core/src/lanes/lane-policy.ts';

/** Opens a store of lanes without any, and one more that shares its records. */
export type OpenLaneStates = () => Promise<
  AsyncDisposable & {
    readonly states: LaneStates;
    readonly other: LaneStates;
    /** Replaces the text of a stored record, if the store has any. */
    readonly damage: (lane: string, text: string) => Promise<void> | void;
  }
>;

/** Tests every promise of the `LaneStates` port. */
export function describeLaneStatesContract(name: string, open: OpenLaneStates): void {
  describe(`LaneStates contract: ${name}`, () => {
    const first = { ...unknownLane('lab', 1_000), revision: 1 };
    const second = { ...first, revision: 2, atMs: 2_000 };

    it('reads nothing of a lane that was never stored', async () => {
      await using opened = await open();
      const { states } = opened;

      expect(await states.read('lab')).toBeUndefined();
    });

    it('stores a state for all who share the records', async () => {
      await using opened = await open();
      const { states, other } = opened;

      expect(await states.replace('lab', undefined, first)).toBe(true);

      expect(await other.read('lab')).toEqual(first);
      expect(await other.read('openai')).toBeUndefined();
    });

    it('replaces a state that is still the one that was read', async () => {
      await using opened = await open();
      const { states, other } = opened;
      await states.replace('lab', undefined, first);

      expect(await other.replace('lab', first, second)).toBe(true);

      expect(await states.read('lab')).toEqual(second);
    });

    it('changes nothing where another has written meanwhile', async () => {
      await using opened = await open();
      const { states, other } = opened;
      await states.replace('lab', undefined, first);
      await other.replace('lab', first, second);

      expect(await states.replace('lab', first, { ...first, revision: 2 })).toBe(false);
      expect(await states.replace('lab', undefined, first)).toBe(false);

      expect(await states.read('lab')).toEqual(second);
    });

    it.each(['{', '7', '{"schemaVersion":2,"revision":7}'])(
      'knows nothing of a lane whose record cannot be read, and has it replaced: %s',
      async (text) => {
        await using opened = await open();
        const { states, other, damage } = opened;
        await states.replace('lab', undefined, { ...first, revision: 6 });

        await damage('lab', text);

        const read = await states.read('lab');
        expect(read?.models).toEqual({});
        expect(await states.replace('lab', read, { ...second, revision: 7 })).toBe(true);
        expect(await other.replace('lab', read, { ...first, revision: 7 })).toBe(false);
        expect(await other.read('lab')).toEqual({ ...second, revision: 7 });
      },
    );

    it('stores one of many states that are written at the same time', async () => {
      await using opened = await open();
      const { states, other } = opened;
      await states.replace('lab', undefined, first);

      const stored = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? states : other).replace('lab', first, { ...second, atMs: index }),
        ),
      );

      expect(stored.filter(Boolean)).toHaveLength(1);
      expect((await states.read('lab'))?.atMs).toBe(stored.indexOf(true));
    });
  });
}
