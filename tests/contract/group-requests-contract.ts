import {
  type DispatchRequest,
  dispatchRequestSchema,
  type GroupRequests,
  resultRequestSchema,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';

/** Requests that nobody serves but the test. */
export interface GroupRequestsUnderTest extends AsyncDisposable {
  readonly requests: GroupRequests;
  /** The same requests as another process sees them. */
  readonly other: GroupRequests;
  /** Takes requests in flight, up to ten, each once; as they travel. */
  take(kind: 'tasks' | 'results'): Promise<readonly unknown[]>;
  /** Ends the work on what was taken. */
  finish(): Promise<void>;
}

/** Makes fresh requests, none asked. */
export type OpenGroupRequests = () => Promise<GroupRequestsUnderTest>;

/** What the `GroupRequests` port promises, sentence by sentence. */
export function describeGroupRequestsContract(name: string, open: OpenGroupRequests): void {
  describe(`GroupRequests contract: ${name}`, () => {
    it.each<DispatchRequest>([
      { v: 1, group: 'demo', kind: 'plan' },
      { v: 1, group: 'demo', kind: 'refill' },
      { v: 1, group: 'demo', kind: 'refill', breakerKey: 'hub/org/m:free é\uFFFE\uFFFF\u0001' },
      { v: 1, group: 'demo', kind: 'plan', from: { run: 'demo-r2', offset: 0 } },
      {
        v: 1,
        group: 'demo',
        kind: 'refill',
        breakerKey: 'lab',
        from: { run: 'demo-r1', offset: 123_456_789_012 },
      },
    ])('hands over a request for tasks as it was asked: %j', async (request) => {
      await using store = await open();

      await store.requests.requestDispatch(request);

      const taken = await store.take('tasks');
      expect(taken.map((each) => dispatchRequestSchema.parse(each))).toEqual([request]);
      expect(await store.take('results')).toEqual([]);
    });

    it('hands over a request for results as it was asked', async () => {
      await using store = await open();

      await store.requests.requestResults('demo');

      const taken = await store.take('results');
      expect(taken.map((each) => resultRequestSchema.parse(each))).toEqual([
        { v: 1, group: 'demo' },
      ]);
      expect(await store.take('tasks')).toEqual([]);
    });

    it('hands over every request, of whichever group', async () => {
      await using store = await open();

      for (const group of ['a', 'b', 'a']) await store.requests.requestResults(group);

      const taken = await store.take('results');
      const groups = taken.map((each) => resultRequestSchema.parse(each).group);
      expect(groups.toSorted()).toEqual(['a', 'a', 'b']);
    });

    it('counts the requests for tasks that wait and that are being served', async () => {
      await using store = await open();
      const counts = [await store.other.countDispatchRequests()];
      await store.requests.requestDispatch({ v: 1, group: 'demo', kind: 'plan' });
      await store.requests.requestDispatch({ v: 1, group: 'demo', kind: 'refill' });
      await store.requests.requestResults('demo');

      counts.push(await store.other.countDispatchRequests());
      await store.take('tasks');
      counts.push(await store.other.countDispatchRequests());
      await store.finish();
      counts.push(await store.other.countDispatchRequests());

      expect(counts).toEqual([0, 2, 2, 0]);
    });
  });
}
