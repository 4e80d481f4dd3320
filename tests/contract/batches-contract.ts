import {
  type Batch,
  type BatchedCall,
  type Batches,
  limits,
  mapBounded,
  type WaitingCall,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aBatchedCall } from '../support/builders.ts';
import { collect } from '../support/collect.ts';

/** Two views of one store, as two processes have them. */
export interface BatchesUnderTest extends AsyncDisposable {
  readonly batches: Batches;
  readonly other: Batches;
}

const room = { requestCount: 3, bytes: 1_000_000 };

function refuse(call: WaitingCall): BatchedCall {
  const refusal = { code: 'model-timeout', message: 'no answer', details: {} } as const;
  return { ...call, state: 'refused', refusal };
}

/** Describes what every store of batches promises. */
export function describeBatchesContract(name: string, open: () => Promise<BatchesUnderTest>): void {
  const enterAll = async (batches: Batches, count: number) => {
    const calls: WaitingCall[] = [];
    for (let index = 0; index < count; index += 1) {
      const call = aBatchedCall({ id: `q${index}`, enteredAtMs: index });
      calls.push(await batches.enter('demo', call, room));
    }
    return calls;
  };

  describe(`batches ${name}`, () => {
    it('gather calls, which every process finds', async () => {
      await using stores = await open();
      const { batches, other } = stores;

      const [first, second] = await enterAll(batches, 2);

      expect(second?.batchId).toBe(first?.batchId);
      expect(await other.list('demo')).toMatchObject([
        {
          state: 'gathering',
          lane: 'lab',
          model: 'm',
          callCount: 2,
          group: 'demo',
          enteredAtMs: 1,
        },
      ]);
      expect(await other.findCall(aBatchedCall({ id: 'q1' }).cell, 'answer')).toEqual(second);
      expect(await other.findCall(aBatchedCall({ id: 'q1' }).cell, 'judge-1')).toBeUndefined();
      expect(await other.list('else')).toEqual([]);
    });

    it('close when they have no room for another call, and the next call opens the next', async () => {
      await using stores = await open();

      const calls = await enterAll(stores.batches, 4);

      const [first, last] = [calls[0]?.batchId, calls[3]?.batchId];
      expect(calls.map(({ batchId }) => batchId)).toEqual([first, first, first, last]);
      const listed = await stores.other.list('demo');
      expect(listed.map(({ state, callCount }) => [state, callCount])).toEqual([
        ['closed', 3],
        ['gathering', 1],
      ]);
    });

    it('close when they have no room for the bytes of a call', async () => {
      await using stores = await open();
      const { batches } = stores;
      const large = { content: 'x'.repeat(1_000), role: 'user' } as const;
      const call = (id: string) => aBatchedCall({ id, messages: [large] });

      const first = await batches.enter('demo', call('q1'), { requestCount: 9, bytes: 1_500 });
      const second = await batches.enter('demo', call('q2'), { requestCount: 9, bytes: 1_500 });

      expect(second.batchId).not.toBe(first.batchId);
      expect((await batches.list('demo')).map(({ state }) => state)).toEqual([
        'closed',
        'gathering',
      ]);
    });

    it('close as they were read, unless another call has entered since', async () => {
      await using stores = await open();
      const { batches, other } = stores;
      await enterAll(batches, 1);
      const [read] = await batches.list('demo');
      if (read?.state !== 'gathering') throw new Error('expected a batch that gathers calls');
      await other.enter('demo', aBatchedCall({ id: 'late', enteredAtMs: 7 }), room);

      const isReplaced = await batches.replace(read, { ...read, state: 'closed' });
      const [later] = await batches.list('demo');
      if (later?.state !== 'gathering') throw new Error('expected a batch that gathers calls');
      const closed: Batch = { ...later, state: 'closed' };
      const isReplacedLater = await batches.replace(later, closed);
      const next = await other.enter('demo', aBatchedCall({ id: 'next' }), room);

      expect([isReplaced, isReplacedLater]).toEqual([false, true]);
      expect(later).toMatchObject({ callCount: 2, enteredAtMs: 7 });
      expect(next.batchId).not.toBe(closed.batchId);
      const listed = await other.list('demo');
      expect(listed).toMatchObject([closed, { state: 'gathering', batchId: next.batchId }]);
    });

    it('keep the calls of groups, lanes and models apart', async () => {
      await using stores = await open();
      const { batches } = stores;

      const entered = [
        await batches.enter('demo', aBatchedCall({ id: 'q1' }), room),
        await batches.enter('demo', aBatchedCall({ id: 'q2', model: 'n' }), room),
        await batches.enter('demo', aBatchedCall({ id: 'q3', lane: 'b' }), room),
        await batches.enter('else', aBatchedCall({ id: 'q4' }), room),
      ];

      expect(new Set(entered.map(({ batchId }) => batchId)).size).toBe(4);
    });

    it('keep the call of a step that waits, and take another once it has ended', async () => {
      await using stores = await open();
      const { batches, other } = stores;
      const first = await batches.enter('demo', aBatchedCall({ callId: 'c1' }), room);

      const again = await other.enter('demo', aBatchedCall({ callId: 'c2' }), room);
      await batches.endCalls([refuse(first)]);
      const next = await other.enter('demo', aBatchedCall({ callId: 'c3' }), room);

      expect(again).toEqual(first);
      expect(next).toMatchObject({ callId: 'c3', state: 'waiting' });
      expect(await batches.findCall(first.cell, 'answer')).toEqual(next);
    });

    it('end calls that wait, once', async () => {
      await using stores = await open();
      const { batches, other } = stores;
      const [first, second] = await enterAll(batches, 2);
      if (first === undefined || second === undefined) throw new Error('expected two calls');

      await batches.endCalls([refuse(first)]);
      await other.endCalls([{ ...first, state: 'unanswered' }]);

      expect(await other.findCall(first.cell, 'answer')).toEqual(refuse(first));
      expect(await collect(other.listCalls(first.batchId))).toEqual([refuse(first), second]);
      const read = await other.readCalls(first.batchId, [first.callId, second.callId, 'none']);
      expect([...read.values()].map(({ state }) => state).toSorted()).toEqual([
        'refused',
        'waiting',
      ]);
    });

    it('remove calls, but none that has been entered anew', async () => {
      await using stores = await open();
      const { batches } = stores;
      const first = await batches.enter('demo', aBatchedCall({ callId: 'c1' }), room);
      await batches.endCalls([refuse(first)]);
      const next = await batches.enter('demo', aBatchedCall({ callId: 'c2' }), room);

      await batches.removeCalls([first]);
      const kept = await batches.findCall(first.cell, 'answer');
      await batches.removeCalls([next]);
      await batches.removeCalls([next]);

      expect(kept).toEqual(next);
      expect(await batches.findCall(first.cell, 'answer')).toBeUndefined();
    });

    it('list more calls than a page has, in the order of their call ids', async () => {
      await using stores = await open();
      const { batches } = stores;
      const all = { requestCount: 2_000, bytes: 1e9 };
      const ids = Array.from({ length: limits.pageSize + 10 }, (_, index) => `q${index}`);
      const entered = await mapBounded(ids, 16, (id) =>
        batches.enter('demo', aBatchedCall({ id }), all),
      );

      const listed = await collect(batches.listCalls(entered[0]?.batchId ?? ''));

      const callIds = listed.map(({ callId }) => callId);
      expect(callIds).toEqual(entered.map(({ callId }) => callId).toSorted());
    });

    it('are replaced by one of two processes that read the same, and taken back as they were', async () => {
      await using stores = await open();
      const { batches, other } = stores;
      await enterAll(batches, 3);
      const [closed] = await batches.list('demo');
      if (closed?.state !== 'closed') throw new Error('expected a closed batch');
      const announce = (owner: string): Batch => ({
        ...closed,
        state: 'announced',
        owner,
        ...{ submittedAtMs: 5, polledAtMs: 5, ageMs: 0 },
      });

      const accepted: Batch = {
        ...closed,
        ...{ state: 'accepted', owner: 'a', submittedAtMs: 5, polledAtMs: 9, ageMs: 4 },
        ...{ endpoint: 'http://127.0.0.1:1/v1', vendorId: 'batch_1' },
      };

      const isTakenBack =
        (await batches.replace(closed, accepted)) && (await other.replace(accepted, closed));
      const takenBack = await batches.list('demo');
      const done = [
        await batches.replace(closed, announce('a')),
        await other.replace(closed, announce('b')),
        await batches.replace(closed, announce('a')),
      ];
      const listed = await other.list('demo');
      await other.remove(announce('a'));
      await other.remove(announce('a'));

      expect([isTakenBack, takenBack]).toEqual([true, [closed]]);
      expect(done).toEqual([true, false, true]);
      expect(listed).toEqual([announce('a')]);
      expect(await batches.list('demo')).toEqual([]);
    });
  });
}
