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
    const isRefused =
      error instanceof OpenAI.APIError && (error.status === 401 || error.status === 403);
    const message = error instanceof Error ? error.message : String(error);
    throw new ThriceError({
      code: isRefused ? 'auth-failed' : 'endpoint-unreachable',
      message: key === undefined ? message : message.replaceAll(key, '[key]'),
      cause: error,
    });
  }
}
