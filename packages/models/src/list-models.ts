import type { Lane } from '@thrice/core';
import { listEndpointModels } from './call/list-endpoint-models.ts';
import { protocols } from './protocols.ts';

/**
 * Lists the names of the models that an endpoint of a lane serves; empty if the endpoint lists none.
 *
 * @param endpoint - One of the lane's base URLs.
 * @param key - The lane's API key; undefined if it needs none.
 * @throws {ThriceError} `auth-failed` for a rejected key, `endpoint-unreachable` for any other failure.
 */
export async function listModels(
  { protocol }: Lane,
  endpoint: string,
  key: string | undefined,
): Promise<readonly string[]> {
  return await listEndpointModels(protocols[protocol], endpoint, key);
}
