import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { ServedProtocol } from '../protocols/served-protocol.ts';
import { answerRow, type BatchRow, type BatchServices } from './answer-row.ts';
import { type BatchPhase, BatchWork } from './batch-work.ts';
import type { Batching } from './load-batching.ts';

/** How long a batch may take. */
export const DAY_MS = 86_400_000;
const DEFAULT_PAGE = 20;

/** What every vendor keeps of a batch. */
export interface StoredBatch {
  readonly id: string;
  readonly createdMs: number;
  readonly work: BatchWork;
}

/** What batches are worked on with. */
export interface BatchesInit {
  readonly services: BatchServices;
  readonly seed: number;
  readonly batching: Batching;
}

/** A page of a list of batches. */
interface BatchPage<Batch> {
  readonly data: readonly Batch[];
  /** The fields that the lists of all vendors have beside their batches. */
  readonly cursors: {
    readonly first_id: string | null;
    readonly last_id: string | null;
    readonly has_more: boolean;
  };
}

/** The batches of one vendor, in memory. */
export class StoredBatches<Batch extends StoredBatch> {
  readonly #init: BatchesInit;
  /** Newest last. */
  readonly #batches = new Map<string, Batch>();

  constructor(init: BatchesInit) {
    this.#init = init;
  }

  get count(): number {
    return this.#batches.size;
  }

  get nowMs(): number {
    return this.#init.services.clock.now();
  }

  /** Works on what is due. */
  settle(): void {
    for (const batch of this.#batches.values()) this.phaseOf(batch);
  }

  /** Begins to work on requests, each of which is answered as a live one. */
  begin(
    rows: readonly BatchRow[],
    {
      protocol,
      headers,
    }: { readonly protocol: ServedProtocol; readonly headers: IncomingHttpHeaders },
  ): Pick<StoredBatch, 'createdMs' | 'work'> {
    const { services, seed, batching } = this.#init;
    const createdMs = this.nowMs;
    const work = new BatchWork({
      rows,
      seed,
      batching,
      startedMs: createdMs,
      answer: (row, hasFailed) =>
        answerRow(row, { id: randomName(), protocol, headers, services, hasFailed }),
    });
    return { createdMs, work };
  }

  add(batch: Batch): void {
    this.#batches.set(batch.id, batch);
  }

  find(id: string): Batch | undefined {
    return this.#batches.get(id);
  }

  phaseOf({ work }: Batch): BatchPhase {
    return work.phaseAt(this.nowMs);
  }

  /** Lists batches, newest first. */
  list(
    query: URLSearchParams,
    { after, maxPage }: { readonly after: string; readonly maxPage: number },
  ): BatchPage<Batch> {
    const limit = Math.min(maxPage, Number(query.get('limit') ?? DEFAULT_PAGE));
    const newestFirst = [...this.#batches.values()].reverse();
    const last = query.get(after);
    const start = last === null ? 0 : newestFirst.findIndex(({ id }) => id === last) + 1;
    const data = newestFirst.slice(start, start + limit);
    return {
      data,
      cursors: {
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: start + limit < newestFirst.length,
      },
    };
  }
}

/** A name as vendors give them to what they store, behind a prefix. */
export function randomName(): string {
  return randomUUID().replaceAll('-', '');
}
