import { ThriceError } from '@thrice/core';
import OpenAI from 'openai';

/** An endpoint that does not list its models within this long is not there, ms. */
const TIMEOUT_MS = 15_000;

/**
 * The names of the models an endpoint lists; none where it lists none.
 *
 * @param endpoint - Base URL.
 * @throws {ThriceError} `auth-failed` for a refused key, `endpoint-unreachable` for all else.
 */
export async function listModels(
  endpoint: string,
  key: string | undefined,
): Promise<readonly string[]> {
  const client = new OpenAI({
    baseURL: endpoint,
    apiKey: key ?? 'none',
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: TIMEOUT_MS,
    logLevel: 'off',
  });
  try {
    const page = await client.models.list();
    return page.data.map(({ id }) => id);
  } catch (error) {
    throw mapListError(error, key);
  }
}

function mapListError(error: unknown, key: string | undefined): ThriceError {
  const status = error instanceof OpenAI.APIError ? (error.status as unknown) : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new ThriceError({
    code: status === 401 || status === 403 ? 'auth-failed' : 'endpoint-unreachable',
    message: key === undefined ? message : message.replaceAll(key, '[key]'),
    // A response may say the key back, in any of its parts; a failed connection cannot.
    cause: status === undefined ? error : undefined,
  });
}
