import type { DispatchRequest, GroupRequests, ResultRequest } from '@thrice/core';

/** Requests that are kept until somebody says that they were served. */
export class FakeGroupRequests implements GroupRequests {
  /** Every request for tasks, in order. */
  readonly tasks: DispatchRequest[] = [];
  /** Every request for results, in order. */
  readonly results: ResultRequest[] = [];
  /** Runs before a request is kept; what it throws, the asker gets. */
  onAsk: (kind: 'tasks' | 'results') => void = () => undefined;
  readonly #servedCounts = { tasks: 0, results: 0 };

  async requestDispatch(request: DispatchRequest): Promise<void> {
    this.onAsk('tasks');
    this.tasks.push(request);
  }

  async requestResults(group: string, isHalted = false): Promise<void> {
    this.onAsk('results');
    this.results.push({ v: 1, group, ...(isHalted && { isHalted }) });
  }

  async countDispatchRequests(): Promise<number> {
    return this.countPending('tasks');
  }

  /** Requests of a kind that were not served yet. */
  countPending(kind: 'tasks' | 'results'): number {
    return this[kind].length - this.#servedCounts[kind];
  }

  /** Says that everything of a kind that was asked for so far was served. */
  serveAll(kind: 'tasks' | 'results'): void {
    this.#servedCounts[kind] = this[kind].length;
  }

  /** Serves the oldest request of a kind, if there is one; it stays pending where that throws. */
  async serveNext(
    kind: 'tasks' | 'results',
    serve: (request: DispatchRequest | ResultRequest) => Promise<unknown>,
  ): Promise<void> {
    const request = this[kind][this.#servedCounts[kind]];
    if (request === undefined) return;
    await serve(request);
    this.#servedCounts[kind] += 1;
  }
}
