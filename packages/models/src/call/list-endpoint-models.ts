import { ThriceError } from '@thrice/core';
import { APIError } from 'openai/core/error';
import { endpointHeaders, endpointUrl } from './endpoint.ts';
import { fieldOf, isRecord } from './json-value.ts';
import { rootMessage } from './map-call-error.ts';
import { parseJson } from './parse-json.ts';
import type { WireProtocol } from './wire-protocol.ts';

/** An endpoint that takes longer to list its models is unreachable, ms. */
const TIMEOUT_MS = 15_000;

/**
 * Lists the names of an endpoint's models.
 *
 * @param endpoint - Base URL.
 * @throws {ThriceError} `auth-failed` for a rejected key, `endpoint-unreachable` for any other failure.
 */
export async function listEndpointModels(
  protocol: WireProtocol,
  endpoint: string,
  key: string | undefined,
): Promise<readonly string[]> {
  try {
    const response = await fetch(endpointUrl(endpoint, protocol.modelsPath), {
      headers: endpointHeaders(protocol, key),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const body = parseJson(text);
    if (!response.ok) {
      const json = isRecord(body) ? body : undefined;
      throw APIError.generate(response.status, json, text, new Headers());
    }
    const models = fieldOf(body, 'data');
    if (!Array.isArray(models)) throw new Error('expected a list of models, received another body');
    return models.map((model) => fieldOf(model, 'id')).filter((id) => typeof id === 'string');
  } catch (error) {
    throw mapListError(error, key);
  }
}

function mapListError(error: unknown, key: string | undefined): ThriceError {
  const status = error instanceof APIError ? (error.status as unknown) : undefined;
  const message = rootMessage(error);
  return new ThriceError({
    code: status === 401 || status === 403 ? 'auth-failed' : 'endpoint-unreachable',
    message: key === undefined ? message : message.replaceAll(key, '[key]'),
    // Any part of a response may repeat the key; the error of a failed connection has no response.
    cause: status === undefined ? error : undefined,
  });
}
