import {
  type BatchClient,
  type BatchLimits,
  type BatchResult,
  type BatchState,
  type BatchSubmission,
  type Lane,
  toThriceError,
  type VendorBatch,
} from '@thrice/core';
import { fieldOf } from '../call/json-value.ts';
import type { ModelClientInit } from '../call/lane-model-client.ts';
import { mapNotFound } from '../call/map-not-found.ts';
import type { WireProtocol } from '../call/wire-protocol.ts';
import {
  answered,
  notEnded,
  type ResultContext,
  refused,
  unreadableBatch,
} from './batch-response.ts';
import { gatherLines } from './gather-lines.ts';
import { LaneRequests } from './lane-requests.ts';

const PATH = '/messages/batches';
/** 256 MB may take as long as this to send, ms. */
const SUBMIT_TIMEOUT_MS = 600_000;
/** Names that are safe within a path. */
const SAFE_NAME = /^\w[\w.:-]{0,255}$/;

/**
 * Anthropic's message batches: one request for all, and a file of results. A batch has no metadata: one whose response
 * is lost cannot be found by its caller's name.
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

  async submit({ lane, requests }: BatchSubmission, signal: AbortSignal): Promise<VendorBatch> {
    const describe: Parameters<typeof gatherLines>[2] = ({ customId, request }) => ({
      custom_id: customId,
      params: this.#protocol.describeRequest({ ...request, isStreamed: false }),
    });
    const body = `{"requests":[${gatherLines(requests, this.limits, describe, ',')}]}`;
    const { endpoint, raw } = await this.#requests.fetchDocument({
      lane,
      signal,
      timeoutMs: SUBMIT_TIMEOUT_MS,
      exchange: async ({ open }, init) => await open(PATH).post({ ...init, body }),
    });
    const vendorId = fieldOf(raw, 'id');
    if (typeof vendorId !== 'string' || !SAFE_NAME.test(vendorId)) throw unreadableBatch();
    return { endpoint, vendorId };
  }

  async poll(lane: Lane, batch: VendorBatch, signal: AbortSignal): Promise<BatchState> {
    return await this.#ask({ lane, batch, signal, isCancellation: false });
  }

  async cancel(lane: Lane, batch: VendorBatch, signal: AbortSignal): Promise<BatchState> {
    return await this.#ask({ lane, batch, signal, isCancellation: true });
  }

  /** The key goes to the lane's endpoint, not to the URL that the batch names. */
  async *results(lane: Lane, batch: VendorBatch, signal: AbortSignal): AsyncGenerator<BatchResult> {
    const { endpoint } = batch;
    const state = await this.poll(lane, batch, signal);
    if (state.kind !== 'ended') throw notEnded();
    const lines = this.#requests.fetchLines({
      lane,
      signal,
      endpoint,
      exchange: async ({ open }, init) => await open(`${pathOf(batch)}/results`).get(init),
    });
    for await (const line of lines) {
      const nowMs = this.#requests.nowMs;
      const result = readLine(line, { protocol: this.#protocol, lane, endpoint, nowMs });
      if (result !== undefined) yield result;
    }
  }

  async #ask(asked: {
    readonly lane: Lane;
    readonly batch: VendorBatch;
    readonly signal: AbortSignal;
    readonly isCancellation: boolean;
  }): Promise<BatchState> {
    const { lane, batch, signal, isCancellation } = asked;
    const { raw } = await this.#requests
      .fetchDocument({
        lane,
        signal,
        endpoint: batch.endpoint,
        exchange: async ({ open }, init) =>
          isCancellation
            ? await open(`${pathOf(batch)}/cancel`).post({ ...init, body: '' })
            : await open(pathOf(batch)).get(init),
      })
      .catch((error: unknown) => {
        throw mapNotFound(toThriceError(error), batch.vendorId);
      });
    return readState(raw);
  }
}

function pathOf({ vendorId }: VendorBatch): string {
  return `${PATH}/${encodeURIComponent(vendorId)}`;
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
