import {
  type BatchClient,
  type BatchLimits,
  type BatchResult,
  type BatchState,
  type BatchSubmission,
  type Lane,
  type LostBatch,
  type PendingResponse,
  toThriceError,
} from '@thrice/core';
import { fieldOf } from '../call/json-value.ts';
import type { ModelClientInit } from '../call/lane-model-client.ts';
import type { WireProtocol } from '../call/wire-protocol.ts';
import {
  answered,
  explainNotFound,
  notEnded,
  type ResultContext,
  readName,
  refused,
  resultsGone,
  unreadableBatch,
} from './batch-response.ts';
import { gatherLines } from './gather-lines.ts';
import { type AboutBatch, LaneRequests, UPLOAD_TIMEOUT_MS } from './lane-requests.ts';

const PATH = '/messages/batches';
/**
 * The list of batches, with as many on a page as it may have, the newest first:
 * https://platform.claude.com/docs/en/api/typescript/messages/batches/list (2026-11).
 */
const LIST = { path: `${PATH}?limit=1000`, cursor: 'after_id' };
/** What the clocks of a machine and of the vendor may differ by, ms. */
const CLOCK_SKEW_MS = 300_000;

/**
 * Anthropic's message batches: one request for all, and a file of results. A batch has no metadata.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/batch-processing (2026-11), and
 *   `resources/messages/batches` in the types of `@anthropic-ai/sdk` 1.12.0
 */
export class MessageBatchClient implements BatchClient {
  readonly limits: BatchLimits = {
    requestCount: 100_000,
    bytes: 256 * 1024 * 1024,
    hasOneModel: false,
  };
  readonly #protocol: WireProtocol;
  readonly #requests: LaneRequests;

  constructor(protocol: WireProtocol, init: ModelClientInit) {
    this.#protocol = protocol;
    this.#requests = new LaneRequests(protocol, init);
  }

  async submit({ lane, requests }: BatchSubmission, signal: AbortSignal): Promise<PendingResponse> {
    const describe: Parameters<typeof gatherLines>[2] = ({ customId, request }) => ({
      custom_id: customId,
      params: this.#protocol.describeRequest({ ...request, isStreamed: false }),
    });
    const body = `{"requests":[${gatherLines(requests, this.limits, describe, ',')}]}`;
    const submitted = this.#requests.fetchDocument({
      lane,
      signal,
      timeoutMs: UPLOAD_TIMEOUT_MS,
      exchange: async ({ open }, init) => await open(PATH).post({ ...init, body }),
    });
    const { endpoint, raw } = await submitted.catch((error: unknown) => {
      throw explainNotFound(toThriceError(error));
    });
    return { endpoint, vendorId: readName(raw) };
  }

  /** By its number of requests and one of its results: the vendor keeps no name of it. */
  async find(
    lane: Lane,
    lost: LostBatch,
    signal: AbortSignal,
  ): Promise<PendingResponse | 'unclear' | undefined> {
    let isUnclear = false;
    for await (const { endpoint, raw } of this.#requests.listBatches({ lane, signal, ...LIST })) {
      if (Date.parse(String(fieldOf(raw, 'created_at'))) < lost.sentAtMs - CLOCK_SKEW_MS) break;
      const batch = { endpoint, vendorId: readName(raw) };
      if (!mayBe(lost, raw)) continue;
      if (readState(raw).kind === 'pending') isUnclear = true;
      else if (await this.#hasResultOf(lost, { lane, batch, signal })) return batch;
    }
    return isUnclear ? 'unclear' : undefined;
  }

  async #hasResultOf(
    { customIds }: LostBatch,
    { lane, batch, signal }: Pick<AboutBatch, 'lane' | 'batch' | 'signal'>,
  ): Promise<boolean> {
    for await (const { customId } of this.results(lane, batch, signal))
      return customIds.has(customId);
    return false;
  }

  async poll(lane: Lane, batch: PendingResponse, signal: AbortSignal): Promise<BatchState> {
    const path = pathOf(batch);
    return readState(await this.#requests.fetchAbout({ lane, batch, signal, path, method: 'get' }));
  }

  async cancel(lane: Lane, batch: PendingResponse, signal: AbortSignal): Promise<BatchState> {
    const path = pathOf(batch);
    return readState(await this.#requests.cancel({ lane, batch, signal, path }));
  }

  /** The key goes to the lane's endpoint, not to the URL that the batch names. */
  async *results(
    lane: Lane,
    batch: PendingResponse,
    signal: AbortSignal,
  ): AsyncGenerator<BatchResult> {
    const { endpoint } = batch;
    const about = { lane, batch, signal, path: pathOf(batch), method: 'get' } as const;
    const raw = await this.#requests.fetchAbout(about);
    if (readState(raw).kind !== 'ended') throw notEnded();
    if (isArchived(raw)) throw resultsGone();
    const path = `${pathOf(batch)}/results`;
    yield* this.#requests.fetchResults({ lane, endpoint, signal, path, readLine });
  }
}

function pathOf({ vendorId }: PendingResponse): string {
  return `${PATH}/${encodeURIComponent(vendorId)}`;
}

/**
 * Whether the results of a batch are gone: they are kept for 29 days, the batch for longer.
 *
 * @see https://platform.claude.com/docs/en/api/retrieving-message-batches (2026-11), `archived_at`
 */
function isArchived(raw: unknown): boolean {
  return typeof fieldOf(raw, 'archived_at') === 'string';
}

function mayBe({ others, customIds }: LostBatch, raw: unknown): boolean {
  return !others.has(readName(raw)) && countRequests(raw) === customIds.size && !isArchived(raw);
}

/** How many requests a batch has, whatever has become of them. */
function countRequests(raw: unknown): number {
  const counts = Object.values(Object(fieldOf(raw, 'request_counts')));
  return counts.reduce<number>((sum, count) => sum + Number(count), 0);
}

function readState(raw: unknown): BatchState {
  const status = fieldOf(raw, 'processing_status');
  if (typeof status !== 'string') throw unreadableBatch();
  return status === 'ended' ? { kind: 'ended', problem: undefined } : { kind: 'pending' };
}

/** Reads a line of results; undefined for one that does not say whose it is. */
function readLine(line: unknown, context: ResultContext): BatchResult | undefined {
  const customId = fieldOf(line, 'custom_id');
  const result = fieldOf(line, 'result');
  if (typeof customId !== 'string') return undefined;
  const type = fieldOf(result, 'type');
  if (type === 'succeeded') return answered(customId, fieldOf(result, 'message'), context);
  if (type === 'expired' || type === 'canceled') return { customId, kind: type };
  return refused(customId, { status: undefined, body: fieldOf(result, 'error') }, context);
}
