import {
  type DispatchRequest,
  dispatchRequestSchema,
  type GroupRequests,
  resultRequestSchema,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';

/** Fresh request queues that only the test serves. */
export interface GroupRequestsUnderTest extends AsyncDisposable {
  readonly requests: GroupRequests;
  /** The same requests, accessed by another process. */
  readonly other: GroupRequests;
  /** Receives up to ten requests as they are transmitted, each once. */
  receive(kind: 'tasks' | 'results'): Promise<readonly unknown[]>;
  /** Finishes the received requests. */
  finish(): Promise<void>;
}

/** Opens fresh, empty request queues. */
export type OpenGroupRequests = () => Promise<GroupRequestsUnderTest>;

/** Tests every promise of the `GroupRequests` port. */
export function describeGroupRequestsContract(name: string, open: OpenGroupRequests): void {
  describe(`GroupRequests contract: ${name}`, () => {
    it.each<DispatchRequest>([
      { v: 1, group: 'demo', kind: 'plan' },
      { v: 1, group: 'demo', kind: 'refill' },
      { v: 1, group: 'demo', kind: 'refill', breakerKey: 'hub/org/m:free é\uFFFE\uFFFF\u0001' },
      { v: 1, group: 'demo', kind: 'plan', begunBy: 'message-1' },
      {
        v: 1,
        group: 'demo',
        kind: 'refill',
        breakerKey: 'lab',
        limit: 123_456_789_012,
      },
    ])('delivers a dispatch request unchanged: %j', async (request) => {
      await using store = await open();

      await store.requests.requestDispatch(request);

      const received = await store.receive('tasks');
      expect(received.map((each) => dispatchRequestSchema.parse(each))).toEqual([request]);
      expect(await store.receive('results')).toEqual([]);
    });

    it('delivers a result request unchanged', async () => {
      await using store = await open();

      await store.requests.requestResults({ v: 1, group: 'demo' });

      const received = await store.receive('results');
      expect(received.map((each) => resultRequestSchema.parse(each))).toEqual([
        { v: 1, group: 'demo' },
      ]);
      expect(await store.receive('tasks')).toEqual([]);
    });

    it('delivers a request for the next part of results unchanged', async () => {
      await using store = await open();

      await store.requests.requestResults({ v: 1, group: 'demo', isHalted: true, isNext: true });

      const received = await store.receive('results');
      expect(received.map((each) => resultRequestSchema.parse(each))).toEqual([
        { v: 1, group: 'demo', isHalted: true, isNext: true },
      ]);
    });

    it('delivers every request of every group', async () => {
      await using store = await open();

      for (const group of ['a', 'b', 'a']) await store.requests.requestResults({ v: 1, group });

      const received = await store.receive('results');
      const groups = received.map((each) => resultRequestSchema.parse(each).group);
      expect(groups.toSorted()).toEqual(['a', 'a', 'b']);
    });

    it('counts dispatch requests that wait or are in flight', async () => {
      await using store = await open();
      const counts = [await store.other.countDispatchRequests()];
      await store.requests.requestDispatch({ v: 1, group: 'demo', kind: 'plan' });
      await store.requests.requestDispatch({ v: 1, group: 'demo', kind: 'refill' });
      await store.requests.requestResults({ v: 1, group: 'demo' });

      counts.push(await store.other.countDispatchRequests());
      await store.receive('tasks');
      counts.push(await store.other.countDispatchRequests());
      await store.finish();
      counts.push(await store.other.countDispatchRequests());

      expect(counts).toEqual([0, 2, 2, 0]);
    });
  });
}
