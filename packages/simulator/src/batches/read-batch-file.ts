import { isApiError } from '../api-error.ts';
import { type Fields, isRecord, parseFields } from '../prompt-request.ts';
import type { BatchRow } from './answer-row.ts';

/**
 * The limits of a batch: https://developers.openai.com/api/docs/guides/batch (2026-11), and `BatchCreateParams` in the
 * types of `openai` 7.55.0.
 */
const MAX_REQUESTS = 50_000;
export const MAX_FILE_BYTES = 200 * 1024 * 1024;

/** What is wrong with an input file: `BatchError` in the types of `openai` 7.55.0. */
export interface BatchFileError {
  readonly code: string;
  readonly line: number | null;
  readonly message: string;
  /** The parameter that is wrong; null if it is not one of them. */
  readonly param: string | null;
}

/** The problems that a batch names; the vendor's number is not documented. */
const MAX_ERRORS = 100;

/**
 * Reads the requests of an input file as the validation of a batch does: one JSON object a line, `POST` to the
 * endpoint of the batch, each custom ID once, one model.
 *
 * The vendor documents the rules, not the codes and texts of its errors: they are the simulator's own.
 */
export function readBatchFile(
  text: string,
  endpoint: string,
): { readonly rows: readonly BatchRow[]; readonly errors: readonly BatchFileError[] } {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const refuse = (problem: Problem) => ({ rows: [], errors: [{ ...problem, line: null }] });
  if (lines.length === 0) return refuse(NO_REQUESTS);
  if (lines.length > MAX_REQUESTS) return refuse(TOO_MANY_REQUESTS);
  const errors: BatchFileError[] = [];
  const rows: BatchRow[] = [];
  const seen: SeenRows = { customIds: new Set(), model: undefined };
  for (const [index, text] of lines.entries()) {
    const fields = parseLine(text);
    const problem =
      fields === undefined ? NOT_JSON : (findLineProblem(fields, endpoint) ?? meet(fields, seen));
    if (problem !== undefined) errors.push({ ...problem, line: index + 1 });
    else rows.push({ customId: String(fields?.['custom_id']), body: bodyOf(fields) });
  }
  return { rows, errors: errors.slice(0, MAX_ERRORS) };
}

type Problem = Omit<BatchFileError, 'line'>;

const NO_REQUESTS: Problem = {
  code: 'empty_file',
  message: 'The batch input file has no requests.',
  param: null,
};
const TOO_MANY_REQUESTS: Problem = {
  code: 'too_many_requests',
  message: `The batch input file has more than ${MAX_REQUESTS} requests.`,
  param: null,
};
const NOT_JSON: Problem = {
  code: 'invalid_json_line',
  message: 'The line is not a JSON object.',
  param: null,
};
const OTHER_MODEL: Problem = {
  code: 'mismatched_model',
  message: 'All requests of a batch use the same model.',
  param: 'body.model',
};

/** The requests that were read before. */
interface SeenRows {
  readonly customIds: Set<string>;
  model: unknown;
}

/** Compares a request with those before it. */
function meet({ custom_id: given, body }: Fields, seen: SeenRows): Problem | undefined {
  const customId = String(given);
  const model = isRecord(body) ? body['model'] : undefined;
  seen.model ??= model;
  if (model !== seen.model) return OTHER_MODEL;
  if (seen.customIds.has(customId)) {
    const message = `The custom_id '${customId}' is used more than once.`;
    return { code: 'duplicate_custom_id', message, param: 'custom_id' };
  }
  seen.customIds.add(customId);
  return undefined;
}

function bodyOf(fields: Fields | undefined): string {
  return JSON.stringify(fields?.['body']);
}

function parseLine(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function findLineProblem(
  { custom_id: customId, method, url, body }: Fields,
  endpoint: string,
): Problem | undefined {
  const missing = (param: string) => ({
    code: 'missing_required_parameter',
    message: `Missing required parameter: '${param}'.`,
    param,
  });
  if (typeof customId !== 'string' || customId === '') return missing('custom_id');
  if (!isRecord(body) || isApiError(parseFields(JSON.stringify(body)))) return missing('body');
  if (method !== 'POST') {
    return { code: 'invalid_method', message: "The method is not 'POST'.", param: 'method' };
  }
  if (url === endpoint) return undefined;
  const message = `The URL is not '${endpoint}', the endpoint of the batch.`;
  return { code: 'mismatched_url', message, param: 'url' };
}
