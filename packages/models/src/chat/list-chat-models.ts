import { ThriceError } from '@thrice/core';
import { APIError } from 'openai/core/error';

/** An endpoint that takes longer to list its models is unreachable, ms. */
const TIMEOUT_MS = 15_000;

/**
 * Lists the names of an endpoint's models over the OpenAI protocol.
 *
 * @param endpoint - Base URL.
 * @throws {ThriceError} `auth-failed` for a rejected key, `endpoint-unreachable` for any other failure.
 */
export async function listChatModels(
  endpoint: string,
  key: string | undefined,
): Promise<readonly string[]> {
  // Loaded here alone: the package's client takes a tenth of a second to load, and calls do not use it.
  const { default: OpenAI } = await import('openai');
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
  const status = error instanceof APIError ? (error.status as unknown) : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new ThriceError({
    code: status === 401 || status === 403 ? 'auth-failed' : 'endpoint-unreachable',
    message: key === undefined ? message : message.replaceAll(key, '[key]'),
    // Any part of a response may repeat the key; the error of a failed connection has no response.
    cause: status === undefined ? error : undefined,
  });
}
