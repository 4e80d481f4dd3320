import { randomUUID } from 'node:crypto';
import {
  type BatchClient,
  type BatchLimits,
  type BatchResult,
  type BatchState,
  type BatchSubmission,
  type Lane,
  type LostBatch,
  type PendingResponse,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import { fieldOf, isRecord } from '../call/json-value.ts';
import type { ModelClientInit } from '../call/lane-model-client.ts';
import { withDetails } from '../call/map-call-error.ts';
import { mapNotFound } from '../call/map-not-found.ts';
import type { WireProtocol } from '../call/wire-protocol.ts';
import {
  answered,
  explainNotFound,
  isSafeName,
  mapRefusal,
  notEnded,
  type ResultContext,
  readName,
  refused,
  unreadableBatch,
} from './batch-response.ts';
import { gatherLines } from './gather-lines.ts';
import { type LaneDocument, LaneRequests, UPLOAD_TIMEOUT_MS } from './lane-requests.ts';

/** The key of a batch's metadata that has its caller's name. */
const BATCH_ID_KEY = 'thrice_batch_id';
/** The list of batches, with as many on a page as it may have. */
const LIST = { path: '/batches?limit=100', cursor: 'after' };
/** A request that was not worked on before its batch was cancelled; the vendor documents only `batch_expired`. */
const CANCELLED = /cancell?ed/;

/**
 * OpenAI's batch interface, for chat completions and responses: files of lines, uploaded and downloaded.
 *
 * @see https://developers.openai.com/api/docs/guides/batch (2026-11), and `resources/batches` and `resources/files` in
 *   the types of `openai` 7.55.0
 */
export class FileBatchClient implements BatchClient {
  readonly limits: BatchLimits = {
    requestCount: 50_000,
    bytes: 200 * 1024 * 1024,
    hasOneModel: true,
  };
  readonly #protocol: WireProtocol;
  readonly #requests: LaneRequests;

  constructor(protocol: WireProtocol, init: ModelClientInit) {
    this.#protocol = protocol;
    this.#requests = new LaneRequests(protocol, init);
  }

  async submit(submission: BatchSubmission, signal: AbortSignal): Promise<PendingResponse> {
    const { lane, batchId, requests } = submission;
    const url = `/v1${this.#protocol.path}`;
    const lines = gatherLines(requests, this.limits, ({ customId, request }) => {
      const body = this.#protocol.describeRequest({ ...request, isStreamed: false });
      return { custom_id: customId, method: 'POST', url, body };
    });
    const file = await this.#upload(lane, { name: batchId, lines }, signal);
    const fields = {
      input_file_id: readName(file.raw),
      endpoint: url,
      completion_window: '24h',
      metadata: { [BATCH_ID_KEY]: batchId },
    };
    const { endpoint, raw } = await this.#requests.fetchDocument({
      lane,
      signal,
      endpoint: file.endpoint,
      exchange: async ({ open }, init) =>
        await open('/batches').post({ ...init, body: JSON.stringify(fields) }),
    });
    return { endpoint, vendorId: readName(raw) };
  }

  async poll(lane: Lane, batch: PendingResponse, signal: AbortSignal): Promise<BatchState> {
    return this.#readState(await this.#retrieve(lane, batch, signal));
  }

  async cancel(lane: Lane, batch: PendingResponse, signal: AbortSignal): Promise<BatchState> {
    const path = pathOf(batch);
    return this.#readState(await this.#requests.cancel({ lane, batch, signal, path }));
  }

  async *results(
    lane: Lane,
    batch: PendingResponse,
    signal: AbortSignal,
  ): AsyncGenerator<BatchResult> {
    const { endpoint } = batch;
    const raw = await this.#retrieve(lane, batch, signal);
    if (!isEnded(raw)) throw notEnded();
    for (const field of ['output_file_id', 'error_file_id']) {
      const id = fieldOf(raw, field);
      if (!isSafeName(id)) continue;
      const path = `/files/${encodeURIComponent(id)}/content`;
      const lines = this.#requests.fetchResults({ lane, endpoint, signal, path, readLine });
      yield* orGone(lines, id);
    }
  }

  async find(
    lane: Lane,
    { batchId }: LostBatch,
    signal: AbortSignal,
  ): Promise<PendingResponse | undefined> {
    for await (const { endpoint, raw } of this.#requests.listBatches({ lane, signal, ...LIST })) {
      if (fieldOf(fieldOf(raw, 'metadata'), BATCH_ID_KEY) === batchId)
        return { endpoint, vendorId: readName(raw) };
    }
    return undefined;
  }

  async #upload(
    lane: Lane,
    { name, lines }: { readonly name: string; readonly lines: string },
    signal: AbortSignal,
  ): Promise<LaneDocument> {
    const boundary = `thrice-${randomUUID()}`;
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const body = describeForm(boundary, `${encodeURIComponent(name)}.jsonl`, lines);
    const uploaded = this.#requests.fetchDocument({
      lane,
      signal,
      timeoutMs: UPLOAD_TIMEOUT_MS,
      exchange: async ({ open }, init) => await open('/files', headers).post({ ...init, body }),
    });
    return await uploaded.catch((error: unknown) => {
      // There is no batch before its file: whatever became of that, nothing is billed.
      throw withDetails(explainNotFound(toThriceError(error)), { isUnsent: true });
    });
  }

  async #retrieve(lane: Lane, batch: PendingResponse, signal: AbortSignal): Promise<unknown> {
    const path = pathOf(batch);
    return await this.#requests.fetchAbout({ lane, batch, signal, path, method: 'get' });
  }

  #readState(raw: unknown): BatchState {
    const status = fieldOf(raw, 'status');
    if (typeof status !== 'string') throw unreadableBatch();
    if (!isEnded(raw)) return { kind: 'pending' };
    if (status !== 'failed') return { kind: 'ended', problem: undefined };
    return { kind: 'ended', problem: readProblem(raw, this.#requests.nowMs) };
  }
}

/** A file of results that the vendor does not know has been deleted. */
async function* orGone(
  results: AsyncIterable<BatchResult>,
  fileId: string,
): AsyncGenerator<BatchResult> {
  try {
    yield* results;
  } catch (error) {
    throw mapNotFound(toThriceError(error), fileId);
  }
}

function pathOf({ vendorId }: PendingResponse): string {
  return `/batches/${encodeURIComponent(vendorId)}`;
}

function isEnded(raw: unknown): boolean {
  const status = fieldOf(raw, 'status');
  return (
    status === 'completed' || status === 'failed' || status === 'expired' || status === 'cancelled'
  );
}

/** A multipart form: https://www.rfc-editor.org/rfc/rfc7578 */
function describeForm(boundary: string, fileName: string, lines: string): string {
  const head = (fields: string) => `--${boundary}\r\ncontent-disposition: form-data; ${fields}\r\n`;
  return [
    `${head('name="purpose"')}\r\nbatch\r\n`,
    `${head(`name="file"; filename="${fileName}"`)}content-type: application/jsonl\r\n\r\n`,
    `${lines}\r\n--${boundary}--\r\n`,
  ].join('');
}

/**
 * Why a batch failed its validation. More queued tokens than the account may have are its rate limit, and are reported
 * here too: https://github.com/openai/openai-python/issues/2084 (2025-02).
 */
function readProblem(raw: unknown, nowMs: number): ThriceError {
  const data = fieldOf(fieldOf(raw, 'errors'), 'data');
  const errors: readonly unknown[] = Array.isArray(data) ? data : [];
  const first = errors[0] ?? { message: 'the batch failed its validation' };
  const isQueueFull = fieldOf(first, 'code') === 'token_limit_exceeded';
  const error = mapRefusal(isQueueFull ? 429 : 400, { error: first }, nowMs);
  const { message, details } = error;
  const code = error.code === 'unclassified' ? 'invalid-request' : error.code;
  return new ThriceError({
    code: isQueueFull ? 'model-rate-limited' : code,
    message: errors.length > 1 ? `${message} (and ${errors.length - 1} more)` : message,
    details: { ...details, status: undefined },
  });
}

/** Reads a line of a result file; undefined for one that does not say whose it is. */
function readLine(line: unknown, context: ResultContext): BatchResult | undefined {
  const customId = fieldOf(line, 'custom_id');
  if (typeof customId !== 'string') return undefined;
  const error = fieldOf(line, 'error');
  const response = fieldOf(line, 'response');
  const code = String(fieldOf(error, 'code'));
  if (code === 'batch_expired') return { customId, kind: 'expired' };
  if (CANCELLED.test(code)) return { customId, kind: 'canceled' };
  // vLLM's offline batches have an error beside a response.
  if (isRecord(error)) return refused(customId, { status: undefined, body: { error } }, context);
  const status = fieldOf(response, 'status_code');
  const body = fieldOf(response, 'body');
  if (typeof status !== 'number' || status < 200 || status > 299) {
    return refused(
      customId,
      { status: typeof status === 'number' ? status : undefined, body },
      context,
    );
  }
  return answered(customId, body, context);
}
