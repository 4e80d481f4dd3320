import { ThriceError } from '@thrice/core';
import { APIError } from 'openai/core/error';
import { CallTimeout } from '../transport/call-timeout.ts';
import { type HttpTransport, readText } from '../transport/http-transport.ts';
import { refuseDetour } from '../transport/refuse-detour.ts';
import { endpointHeaders, endpointUrl } from './endpoint.ts';
import { fieldOf, isRecord } from './json-value.ts';
import { parseJson } from './parse-json.ts';
import type { WireProtocol } from './wire-protocol.ts';

/** An endpoint that takes longer to list its models is unreachable, ms. */
const TIMEOUT_MS = 15_000;
/** A router lists thousands of models, with their descriptions. */
const MAX_LIST_BYTES = 32 * 1024 * 1024;

/**
 * Lists the names of an endpoint's models.
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
}): Promise<readonly string[]> {
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
    return models.map((model) => fieldOf(model, 'id')).filter((id) => typeof id === 'string');
  } catch (error) {
    const late = new Error(`no answer within ${TIMEOUT_MS / 1000} s`);
    throw mapListError(timeout.isOver ? late : error, key);
  } finally {
    timeout.clear();
  }
}

function mapListError(error: unknown, key: string | undefined): ThriceError {
  const status = error instanceof APIError ? (error.status as unknown) : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new ThriceError({
    code: status === 401 || status === 403 ? 'auth-failed' : 'endpoint-unreachable',
    message: key === undefined ? message : message.replaceAll(key, '[key]'),
    // Any part of a response may repeat the key; the error of a failed connection has no response.
    cause: status === undefined ? error : undefined,
  });
}
