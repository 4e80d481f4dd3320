import type { IncomingHttpHeaders } from 'node:http';
import { type ApiError, invalidRequest } from '../api-error.ts';
import { isRecord } from '../prompt-request.ts';
import type { ServedProtocol } from '../protocols/served-protocol.ts';
import type { BatchRow, RowAnswer } from './answer-row.ts';
import type { BatchReply } from './batch-reply.ts';
import type { BatchWork } from './batch-work.ts';
import {
  type BatchesInit,
  DAY_MS,
  randomName,
  type StoredBatch,
  StoredBatches,
} from './stored-batches.ts';

/**
 * The limits of a batch: https://platform.claude.com/docs/en/build-with-claude/batch-processing (2026-11), and for the
 * custom ID, https://platform.claude.com/docs/en/api/creating-message-batches.
 */
const MAX_MESSAGES = 100_000;
const MAX_BATCH_BYTES = 256 * 1024 * 1024;
const CUSTOM_ID = /^[a-zA-Z0-9_-]{1,64}$/;

const MAX_PAGE = 1000;

/**
 * Anthropic's message batches, in memory.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/batch-processing (2026-11), and
 *   `resources/messages/batches` in the types of `@anthropic-ai/sdk` 1.12.0
 */
export class MessageBatches {
  readonly #batches: StoredBatches<StoredBatch>;
  readonly #protocol: ServedProtocol;

  constructor(init: BatchesInit & { readonly protocol: ServedProtocol }) {
    this.#batches = new StoredBatches(init);
    this.#protocol = init.protocol;
  }

  /** Works on what is due. */
  settle(): void {
    this.#batches.settle();
  }

  create(headers: IncomingHttpHeaders, body: string): BatchReply | ApiError {
    if (headers['anthropic-version'] === undefined) {
      return invalidRequest('anthropic-version: header is required');
    }
    if (Buffer.byteLength(body) > MAX_BATCH_BYTES) return tooLarge;
    const rows = readRequests(body);
    if ('status' in rows) return rows;
    const begun = this.#batches.begin(rows, { protocol: this.#protocol, headers });
    const batch = { id: `msgbatch_${randomName()}`, ...begun };
    this.#batches.add(batch);
    return { document: describe(batch, 'in_progress', undefined) };
  }

  /** @param origin - Where the server is, for the URL of the results. */
  retrieve(id: string, origin: string): BatchReply | ApiError {
    const batch = this.#batches.find(id);
    return batch === undefined ? notFound(id) : { document: this.#describeNow(batch, origin) };
  }

  cancel(id: string, origin: string): BatchReply | ApiError {
    this.#batches.find(id)?.work.cancel(this.#batches.nowMs);
    return this.retrieve(id, origin);
  }

  /** Lists batches, newest first. */
  list(query: URLSearchParams, origin: string): BatchReply | ApiError {
    const { data, cursors } = this.#batches.list(query, { after: 'after_id', maxPage: MAX_PAGE });
    return {
      document: { data: data.map((batch) => this.#describeNow(batch, origin)), ...cursors },
    };
  }

  results(id: string): BatchReply | ApiError {
    const batch = this.#batches.find(id);
    if (batch === undefined) return notFound(id);
    if (this.#statusOf(batch) !== 'ended') {
      return invalidRequest('The results of a batch are available once its processing has ended.');
    }
    return { lines: describeResults(batch.work) };
  }

  #statusOf(batch: StoredBatch): 'in_progress' | 'canceling' | 'ended' {
    const phase = this.#batches.phaseOf(batch);
    if (phase === 'ended' || phase === 'cancelled') return 'ended';
    return phase === 'cancelling' ? 'canceling' : 'in_progress';
  }

  #describeNow(batch: StoredBatch, origin: string): object {
    return describe(batch, this.#statusOf(batch), origin);
  }
}

function describe(
  { id, createdMs, work }: StoredBatch,
  status: 'in_progress' | 'canceling' | 'ended',
  origin: string | undefined,
): object {
  const isEnded = status === 'ended';
  const { cancelledMs } = work;
  return {
    id,
    type: 'message_batch',
    processing_status: status,
    request_counts: isEnded ? countEnded(work) : { ...NO_COUNTS, processing: work.totalCount },
    ended_at: isEnded ? toIso(work.endMs) : null,
    created_at: toIso(createdMs),
    expires_at: toIso(createdMs + DAY_MS),
    archived_at: null,
    cancel_initiated_at: cancelledMs === undefined ? null : toIso(cancelledMs),
    results_url: isEnded ? `${origin ?? ''}/v1/messages/batches/${id}/results` : null,
  };
}

const NO_COUNTS = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };

function countEnded(work: BatchWork) {
  const succeeded = work.answers.filter(({ status }) => status === 200).length;
  return {
    processing: 0,
    succeeded,
    errored: work.answers.length - succeeded,
    canceled: work.canceled.length,
    expired: work.expired.length,
  };
}

function* describeResults(work: BatchWork): Iterable<string> {
  for (const answer of work.answers) yield describeAnswer(answer);
  for (const { customId } of work.expired) yield describeUnanswered(customId, 'expired');
  for (const { customId } of work.canceled) yield describeUnanswered(customId, 'canceled');
}

/** A line of the results, written by hand: the body is JSON already. */
function describeAnswer({ customId, status, text }: RowAnswer): string {
  const result =
    status === 200
      ? `{"type":"succeeded","message":${text}}`
      : `{"type":"errored","error":${text}}`;
  return `{"custom_id":${JSON.stringify(customId)},"result":${result}}`;
}

function describeUnanswered(customId: string, type: 'expired' | 'canceled'): string {
  return JSON.stringify({ custom_id: customId, result: { type } });
}

function readRequests(body: string): readonly BatchRow[] | ApiError {
  const requests = parseRequests(body);
  if (requests === undefined) return invalidRequest('requests: Field required');
  if (requests.length === 0) return invalidRequest('requests: at least one request is required');
  // Limits and pattern are documented, the words of these refusals are not.
  if (requests.length > MAX_MESSAGES) {
    return invalidRequest(`requests: at most ${MAX_MESSAGES} requests are allowed`);
  }
  const rows = new Map<string, BatchRow>();
  for (const [index, request] of requests.entries()) {
    const row = readRequest(request);
    if (typeof row === 'string') return invalidRequest(`requests.${index}.${row}`);
    const { customId } = row;
    if (rows.has(customId)) {
      return invalidRequest(`requests.${index}.custom_id: '${customId}' is used more than once`);
    }
    rows.set(customId, row);
  }
  return [...rows.values()];
}

/** Reads a request; a text for what is wrong with it. */
function readRequest(request: unknown): BatchRow | string {
  const { custom_id: customId, params } = isRecord(request) ? request : {};
  if (typeof customId !== 'string' || !CUSTOM_ID.test(customId)) {
    return `custom_id: String should match pattern '${CUSTOM_ID.source}'`;
  }
  return isRecord(params) ? { customId, body: JSON.stringify(params) } : 'params: Field required';
}

function parseRequests(body: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(body);
    const requests = isRecord(value) ? value['requests'] : undefined;
    return Array.isArray(requests) ? requests : undefined;
  } catch {
    return undefined;
  }
}

/** https://platform.claude.com/docs/en/api/errors (2026-11) */
const tooLarge: ApiError = {
  status: 413,
  type: 'request_too_large',
  code: null,
  message: 'Request exceeds the maximum allowed number of bytes.',
};

function notFound(id: string): ApiError {
  return { status: 404, type: 'not_found_error', code: null, message: `batch: ${id} not found` };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
