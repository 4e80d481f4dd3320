import type {
  BatchClient,
  BatchLimits,
  BatchResult,
  BatchState,
  BatchSubmission,
  Lane,
  VendorBatch,
} from '@thrice/core';
import { fieldOf } from '../call/json-value.ts';
import type { ModelClientInit } from '../call/lane-model-client.ts';
import type { WireProtocol } from '../call/wire-protocol.ts';
import {
  answered,
  notEnded,
  type ResultContext,
  readName,
  refused,
  unreadableBatch,
} from './batch-response.ts';
import { gatherLines } from './gather-lines.ts';
import { LaneRequests, UPLOAD_TIMEOUT_MS } from './lane-requests.ts';

const PATH = '/messages/batches';

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
      timeoutMs: UPLOAD_TIMEOUT_MS,
      exchange: async ({ open }, init) => await open(PATH).post({ ...init, body }),
    });
    return { endpoint, vendorId: readName(raw) };
  }

  async poll(lane: Lane, batch: VendorBatch, signal: AbortSignal): Promise<BatchState> {
    const path = pathOf(batch);
    return readState(await this.#requests.fetchAbout({ lane, batch, signal, path, method: 'get' }));
  }

  async cancel(lane: Lane, batch: VendorBatch, signal: AbortSignal): Promise<BatchState> {
    const path = `${pathOf(batch)}/cancel`;
    return readState(
      await this.#requests.fetchAbout({ lane, batch, signal, path, method: 'post' }),
    );
  }

  /** The key goes to the lane's endpoint, not to the URL that the batch names. */
  async *results(lane: Lane, batch: VendorBatch, signal: AbortSignal): AsyncGenerator<BatchResult> {
    const state = await this.poll(lane, batch, signal);
    if (state.kind !== 'ended') throw notEnded();
    const { endpoint } = batch;
    const path = `${pathOf(batch)}/results`;
    yield* this.#requests.fetchResults({ lane, endpoint, signal, path, readLine });
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
