import type { CallConditions, LaneStates, Ledger } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aGroupHeader, aLaneState, anEditedHeader, anOpenBreaker } from '../support/builders.ts';

/** Fresh conditions, and the stores whose changes they show. */
export interface CallConditionsUnderTest extends AsyncDisposable {
  readonly conditions: CallConditions;
  readonly ledger: Ledger;
  readonly laneStates: LaneStates;
}

/** Opens fresh conditions. */
export type OpenCallConditions = () => Promise<CallConditionsUnderTest>;

/** Tests every promise of the `CallConditions` port. */
export function describeCallConditionsContract(name: string, open: OpenCallConditions): void {
  describe(`CallConditions contract: ${name}`, () => {
    it('are the state of a group, and of what is named the open breakers and the lane', async () => {
      await using store = await open();
      const [lane, model] = ['lab', 'lab/gpt-9'].map((breakerKey) => anOpenBreaker({ breakerKey }));
      await store.ledger.createGroup(aGroupHeader());
      for (const breaker of [lane, model, anOpenBreaker({ breakerKey: 'spare' })]) {
        if (breaker !== undefined) await store.ledger.openBreaker(breaker);
      }
      await store.laneStates.replace('lab', undefined, aLaneState());
      await store.laneStates.replace('spare', undefined, aLaneState({ lane: 'spare' }));
      const breakerKeys = ['lab', 'lab/gpt-8', 'lab/gpt-9'];

      const read = await store.conditions.readConditions('demo', { breakerKeys, lane: 'lab' });

      expect(read).toEqual({
        state: 'active',
        editCount: 0,
        openBreakers: expect.arrayContaining([lane, model]) as unknown,
        laneState: aLaneState(),
      });
      expect(read.openBreakers).toHaveLength(2);
    });

    it('follow every change', async () => {
      await using store = await open();
      const keys = { breakerKeys: ['lab'], lane: 'lab' };
      await store.ledger.createGroup(aGroupHeader());
      await store.ledger.openBreaker(anOpenBreaker());
      await store.conditions.readConditions('demo', keys);

      await store.ledger.replaceHeader(aGroupHeader(), anEditedHeader());
      await store.ledger.setGroupState('demo', 'cancelled');
      await store.ledger.closeBreaker(anOpenBreaker());
      await store.laneStates.replace('lab', undefined, aLaneState());
      await store.laneStates.replace('lab', aLaneState(), aLaneState({ revision: 2 }));

      const changed = {
        state: 'cancelled',
        editCount: 1,
        openBreakers: [],
        laneState: aLaneState({ revision: 2 }),
      };
      expect(await store.conditions.readConditions('demo', keys)).toEqual(changed);
    });

    it('are empty where there is nothing', async () => {
      await using store = await open();
      const none = {
        state: undefined,
        editCount: undefined,
        openBreakers: [],
        laneState: undefined,
      };
      await store.laneStates.replace('spare', undefined, aLaneState({ lane: 'spare' }));

      expect(await store.conditions.readConditions('lost', { breakerKeys: [] })).toEqual(none);
      expect(
        await store.conditions.readConditions('lost', { breakerKeys: ['lab'], lane: 'lab' }),
      ).toEqual(none);
    });
  });
}
