import type { DispatchRequest, GroupRequests, ResultRequest, WorkPartOptions } from '@thrice/core';

/** A delivery of a request. */
type RequestDelivery = Pick<WorkPartOptions, 'requestId' | 'isRedelivered'>;

/** Records requests and keeps them pending until they are marked as served. */
export class FakeGroupRequests implements GroupRequests {
  /** Every dispatch request, in order. */
  readonly tasks: DispatchRequest[] = [];
  /** Every request for results, in order. */
  readonly results: ResultRequest[] = [];
  /** Runs before a request is recorded. If it throws, the request method rejects. */
  onAsk: (kind: 'tasks' | 'results') => void = () => undefined;
  readonly #delivered = new Set<string>();
  readonly #servedCounts = { tasks: 0, results: 0 };

  async requestDispatch(request: DispatchRequest): Promise<void> {
    this.onAsk('tasks');
    this.tasks.push(request);
  }

  async requestResults(request: ResultRequest): Promise<void> {
    this.onAsk('results');
    this.results.push(request);
  }

  async countDispatchRequests(): Promise<number> {
    return this.countPending('tasks');
  }

  /** Pending requests of a kind. */
  countPending(kind: 'tasks' | 'results'): number {
    return this[kind].length - this.#servedCounts[kind];
  }

  /** Marks all pending requests of a kind as served. */
  serveAll(kind: 'tasks' | 'results'): void {
    this.#servedCounts[kind] = this[kind].length;
  }

  /** Serves the oldest pending request of a kind, if any. It stays pending if serving it throws. */
  async serveNext(
    kind: 'tasks' | 'results',
    serve: (
      request: DispatchRequest | ResultRequest,
      delivery: RequestDelivery,
    ) => Promise<unknown>,
  ): Promise<void> {
    const at = this.#servedCounts[kind];
    const request = this[kind][at];
    if (request === undefined) return;
    const requestId = `${kind}-${at}`;
    const isRedelivered = this.#delivered.has(requestId);
    this.#delivered.add(requestId);
    await serve(request, { requestId, isRedelivered });
    this.#servedCounts[kind] += 1;
  }
}
