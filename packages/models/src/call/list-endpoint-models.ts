import { ThriceError } from '@thrice/core';
import { APIError } from 'openai/core/error';
import { CallTimeout } from '../transport/call-timeout.ts';
import { type HttpTransport, readText } from '../transport/http-transport.ts';
import { createRedact } from '../transport/redact.ts';
import { refuseDetour } from '../transport/refuse-detour.ts';
import { endpointHeaders, endpointUrl } from './endpoint.ts';
import { fieldOf, isRecord } from './json-value.ts';
import { parseJson } from './parse-json.ts';
import type { WireProtocol } from './wire-protocol.ts';

/** An endpoint that takes longer to list its models is unreachable, ms. */
const TIMEOUT_MS = 15_000;
/** A router lists thousands of models, with their descriptions. */
const MAX_LIST_BYTES = 32 * 1024 * 1024;

/** A model as its server lists it. */
export interface ListedModel {
  readonly name: string;
  /** Tokens of prompt and answer together; undefined if the list does not say. */
  readonly contextTokens: number | undefined;
}

/**
 * Where lists state the context window. Read 2026-11.
 *
 * @see https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/protocol.py (`ModelCard`, SGLang's is the same)
 * @see https://openrouter.ai/docs/models
 * @see https://rdrr.io/cran/tidyllm/man/groq_list_models.html (of Groq)
 */
const CONTEXT_FIELDS = ['max_model_len', 'context_length', 'context_window'] as const;

/**
 * Lists an endpoint's models.
 *
 * @throws {ThriceError} `auth-failed` for a rejected key, `endpoint-unreachable` for any other failure.
 */
export async function listEndpointModels({
  protocol,
  endpoint,
  key,
  transport,
}: {
  readonly protocol: WireProtocol;
  /** Base URL. */
  readonly endpoint: string;
  readonly key: string | undefined;
  readonly transport: HttpTransport;
}): Promise<readonly ListedModel[]> {
  const timeout = new CallTimeout(TIMEOUT_MS, new AbortController().signal);
  try {
    const url = endpointUrl(endpoint, protocol.modelsPath);
    const http = transport.open(url, endpointHeaders(protocol, key));
    const response = await http.get({ stop: timeout });
    const { text, failure } = await readText(response, MAX_LIST_BYTES);
    const body = parseJson(text);
    if (response.status < 200 || response.status > 299) {
      const json = isRecord(body) ? body : undefined;
      const refusal = APIError.generate(response.status, json, text, new Headers());
      throw refuseDetour(response, url) ?? refusal;
    }
    if (body === undefined && failure !== undefined) throw failure;
    const models = fieldOf(body, 'data');
    if (!Array.isArray(models)) throw new Error('expected a list of models, received another body');
    return models.flatMap(readListedModel);
  } catch (error) {
    const late = new Error(`no answer within ${TIMEOUT_MS / 1000} s`);
    throw mapListError(timeout.isOver ? late : error, key);
  } finally {
    timeout.clear();
  }
}

function readListedModel(model: unknown): readonly ListedModel[] {
  const name = fieldOf(model, 'id');
  if (typeof name !== 'string') return [];
  const contextTokens = CONTEXT_FIELDS.map((field) => fieldOf(model, field)).find(
    (value): value is number => Number.isSafeInteger(value) && Number(value) > 0,
  );
  return [{ name, contextTokens }];
}

function mapListError(error: unknown, key: string | undefined): ThriceError {
  const status = error instanceof APIError ? (error.status as unknown) : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new ThriceError({
    code: status === 401 || status === 403 ? 'auth-failed' : 'endpoint-unreachable',
    message: createRedact(key)?.(message) ?? message,
    // Any part of a response may repeat the key; the error of a failed connection has no response.
    cause: status === undefined ? error : undefined,
  });
}
