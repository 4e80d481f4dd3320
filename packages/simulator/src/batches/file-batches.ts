import type { IncomingHttpHeaders } from 'node:http';
import { type ApiError, invalidRequest } from '../api-error.ts';
import { type Fields, isRecord } from '../prompt-request.ts';
import type { ServedProtocol } from '../protocols/served-protocol.ts';
import type { RowAnswer } from './answer-row.ts';
import type { BatchReply } from './batch-reply.ts';
import type { BatchPhase } from './batch-work.ts';
import { parseMultipart } from './parse-multipart.ts';
import { type BatchFileError, MAX_FILE_BYTES, readBatchFile } from './read-batch-file.ts';
import {
  type BatchesInit,
  DAY_MS,
  randomName,
  type StoredBatch,
  StoredBatches,
} from './stored-batches.ts';

interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly purpose: 'batch' | 'batch_output';
  readonly createdMs: number;
  readonly bytes: number;
  readonly lines: () => Iterable<string>;
}

interface FileBatch extends StoredBatch {
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly metadata: unknown;
  readonly model: string | undefined;
  /** Of its validation; empty if it passed. */
  readonly errors: readonly BatchFileError[];
}

/** The IDs of the files of a batch. A file without a line is none. */
interface ResultFiles {
  readonly output: string | null;
  readonly error: string | null;
}

const NO_FILES: ResultFiles = { output: null, error: null };

/** What OpenAI calls the phases of a batch whose requests have not all been answered. */
type Status = Exclude<BatchPhase, 'ended'> | 'completed' | 'expired' | 'failed';

/** Where there is nothing left to cancel. */
const ENDED: readonly Status[] = ['completed', 'expired', 'failed', 'cancelled'];

const MAX_PAGE = 100;

/**
 * OpenAI's files and batches, in memory.
 *
 * @see https://developers.openai.com/api/docs/guides/batch (2026-11), and `resources/batches` and `resources/files` in
 *   the types of `openai` 7.55.0
 */
export class FileBatches {
  readonly #files = new Map<string, StoredFile>();
  readonly #batches: StoredBatches<FileBatch>;
  /** By the name of their batch, once it has ended. */
  readonly #resultFiles = new Map<string, ResultFiles>();
  readonly #protocols: ReadonlyMap<string, ServedProtocol>;
  readonly #refusedCount: number;

  /** @param init.protocols - By the endpoint that a batch names. */
  constructor(init: BatchesInit & { readonly protocols: ReadonlyMap<string, ServedProtocol> }) {
    this.#batches = new StoredBatches(init);
    this.#protocols = init.protocols;
    this.#refusedCount = init.batching.refusedCount ?? 0;
  }

  /** Works on what is due. */
  settle(): void {
    this.#batches.settle();
  }

  upload(headers: IncomingHttpHeaders, body: string): BatchReply | ApiError {
    const form = parseMultipart(headers['content-type'], body);
    if (form?.file === undefined) return invalidRequest("Missing required parameter: 'file'.");
    if (form.fields.get('purpose') !== 'batch') return invalidRequest("Invalid value: 'purpose'.");
    const { name, text } = form.file;
    const bytes = Buffer.byteLength(text);
    // The limit is documented, the words of the refusal are not.
    if (bytes > MAX_FILE_BYTES) return invalidRequest('The file is larger than 200 MB.');
    const lines = () => text.split('\n');
    return { document: describeFile(this.#store({ name, purpose: 'batch', bytes, lines })) };
  }

  file(id: string): BatchReply | ApiError {
    const file = this.#files.get(id);
    return file === undefined ? notFound('File', id) : { document: describeFile(file) };
  }

  content(id: string): BatchReply | ApiError {
    const file = this.#files.get(id);
    return file === undefined ? notFound('File', id) : { lines: file.lines() };
  }

  create(headers: IncomingHttpHeaders, body: string): BatchReply | ApiError {
    const fields = parseBody(body);
    if (fields === undefined) {
      return invalidRequest('We could not parse the JSON body of your request.');
    }
    const { input_file_id: fileId, endpoint, completion_window: window, metadata } = fields;
    const file = this.#files.get(String(fileId));
    const protocol = this.#protocols.get(String(endpoint));
    if (window !== '24h') return invalidRequest("Invalid value: 'completion_window'.");
    if (protocol === undefined) return invalidRequest("Invalid value: 'endpoint'.");
    if (file?.purpose !== 'batch') return notFound('File', String(fileId));
    const problem = findMetadataProblem(metadata);
    if (problem !== undefined) return invalidRequest(problem);
    const batch = this.#begin({ file, endpoint: protocol.path, metadata, protocol, headers });
    this.#batches.add(batch);
    return { document: this.#describe(batch, 'validating') };
  }

  retrieve(id: string): BatchReply | ApiError {
    const batch = this.#batches.find(id);
    if (batch === undefined) return notFound('Batch', id);
    return { document: this.#describe(batch, this.#statusOf(batch)) };
  }

  cancel(id: string): BatchReply | ApiError {
    const batch = this.#batches.find(id);
    if (batch === undefined) return notFound('Batch', id);
    const status = this.#statusOf(batch);
    if (ENDED.includes(status)) return notCancellable(status);
    if (batch.errors.length === 0) batch.work.cancel(this.#batches.nowMs);
    return this.retrieve(id);
  }

  /** Lists batches, newest first. */
  list(query: URLSearchParams): BatchReply | ApiError {
    const { data, cursors } = this.#batches.list(query, { after: 'after', maxPage: MAX_PAGE });
    const described = data.map((batch) => this.#describe(batch, this.#statusOf(batch)));
    return { document: { object: 'list', data: described, ...cursors } };
  }

  #begin({
    file,
    protocol,
    headers,
    ...given
  }: {
    readonly file: StoredFile;
    readonly endpoint: string;
    readonly metadata: unknown;
    readonly protocol: ServedProtocol;
    readonly headers: IncomingHttpHeaders;
  }): FileBatch {
    const id = `batch_${randomName()}`;
    const { rows, errors } = readBatchFile([...file.lines()].join('\n'), given.endpoint);
    const isRefused = this.#batches.count < this.#refusedCount;
    const refusal = { code: 'refused', line: null, message: 'The batch is refused.', param: null };
    const all = isRefused ? [refusal, ...errors] : errors;
    const begun = this.#batches.begin(all.length > 0 ? [] : rows, { protocol, headers });
    const model = rows[0] === undefined ? undefined : modelOf(rows[0].body);
    return { ...given, ...begun, id, inputFileId: file.id, model, errors: all };
  }

  #statusOf(batch: FileBatch): Status {
    const { errors, work } = batch;
    const phase = this.#batches.phaseOf(batch);
    if (errors.length > 0) return phase === 'validating' ? phase : 'failed';
    if (phase !== 'ended') return phase;
    return work.expired.length > 0 ? 'expired' : 'completed';
  }

  #describe(batch: FileBatch, status: Status): object {
    const { id, endpoint, inputFileId, metadata, model, createdMs, errors, work } = batch;
    const isOver = status === 'completed' || status === 'expired' || status === 'cancelled';
    const files = isOver ? this.#filesOf(batch) : NO_FILES;
    const endedAt = (wanted: Status) => (status === wanted ? toSeconds(work.endMs) : null);
    const { cancelledMs } = work;
    const failed = work.answers.filter(({ status: code }) => code !== 200).length;
    const isListed = status === 'failed';
    return {
      id,
      object: 'batch',
      endpoint,
      model,
      errors: isListed ? { object: 'list', data: errors } : null,
      input_file_id: inputFileId,
      completion_window: '24h',
      status,
      output_file_id: files.output,
      error_file_id: files.error,
      created_at: toSeconds(createdMs),
      in_progress_at: status === 'validating' || isListed ? null : toSeconds(createdMs),
      expires_at: toSeconds(createdMs + DAY_MS),
      completed_at: endedAt('completed'),
      failed_at: endedAt('failed'),
      expired_at: endedAt('expired'),
      cancelling_at: cancelledMs === undefined ? null : toSeconds(cancelledMs),
      cancelled_at: endedAt('cancelled'),
      request_counts:
        status === 'validating'
          ? { total: 0, completed: 0, failed: 0 }
          : { total: work.totalCount, completed: work.answers.length - failed, failed },
      metadata: metadata ?? null,
    };
  }

  #filesOf(batch: FileBatch): ResultFiles {
    const files = this.#resultFiles.get(batch.id) ?? this.#storeResults(batch);
    this.#resultFiles.set(batch.id, files);
    return files;
  }

  #storeResults({ id, work }: FileBatch): ResultFiles {
    const describeAll = (wanted: (answer: RowAnswer) => boolean) =>
      work.answers.filter(wanted).map((answer) => describeAnswer(id, answer));
    const failed = describeAll(({ status }) => status !== 200);
    const expired = work.expired.map(({ customId }) => describeExpired(id, customId));
    return {
      output: this.#storeLines(
        `${id}_output.jsonl`,
        describeAll(({ status }) => status === 200),
      ),
      error: this.#storeLines(`${id}_error.jsonl`, [...failed, ...expired]),
    };
  }

  #storeLines(name: string, lines: readonly string[]): string | null {
    if (lines.length === 0) return null;
    const bytes = Buffer.byteLength(lines.join('\n')) + 1;
    return this.#store({ name, purpose: 'batch_output', bytes, lines: () => lines }).id;
  }

  #store(file: Omit<StoredFile, 'id' | 'createdMs'>): StoredFile {
    const stored = { ...file, id: `file-${randomName()}`, createdMs: this.#batches.nowMs };
    this.#files.set(stored.id, stored);
    return stored;
  }
}

function describeFile({ id, name, purpose, createdMs, bytes }: StoredFile): object {
  const created_at = toSeconds(createdMs);
  return { id, object: 'file', bytes, created_at, filename: name, purpose, status: 'processed' };
}

/** A line of a result file, written by hand: the body is JSON already. */
function describeAnswer(batchId: string, { customId, status, text }: RowAnswer): string {
  const id = JSON.stringify(`batch_req_${batchId}`);
  const response = `{"status_code":${status},"request_id":${id},"body":${text}}`;
  return `{"id":${id},"custom_id":${JSON.stringify(customId)},"response":${response},"error":null}`;
}

function describeExpired(batchId: string, customId: string): string {
  return JSON.stringify({
    id: `batch_req_${batchId}`,
    custom_id: customId,
    response: null,
    error: {
      code: 'batch_expired',
      message: 'This request could not be executed before the completion window expired.',
    },
  });
}

/** Metadata has at most 16 pairs, of 64 and 512 characters: `BatchCreateParams` in the types of `openai` 7.55.0. */
function findMetadataProblem(metadata: unknown): string | undefined {
  if (metadata === undefined || metadata === null) return undefined;
  const isFine =
    isRecord(metadata) &&
    Object.keys(metadata).length <= 16 &&
    Object.entries(metadata).every(
      ([key, value]) => key.length <= 64 && typeof value === 'string' && value.length <= 512,
    );
  return isFine ? undefined : "Invalid value: 'metadata'.";
}

function parseBody(body: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function modelOf(body: string): string | undefined {
  const model = parseBody(body)?.['model'];
  return typeof model === 'string' ? model : undefined;
}

function notFound(what: 'File' | 'Batch', id: string): ApiError {
  const message = `No such ${what} object: ${id}`;
  return { status: 404, type: 'invalid_request_error', code: null, message };
}

/**
 * A batch that has ended cannot be cancelled: 409.
 *
 * @see https://github.com/BerriAI/litellm/blob/main/tests/batches_tests/test_openai_batches_and_files.py (2026-11), which
 *   meets it for a completed one
 */
function notCancellable(status: Status): ApiError {
  const message = `Cannot cancel a batch with status '${status}'.`;
  return { status: 409, type: 'invalid_request_error', code: null, message };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
