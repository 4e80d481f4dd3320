import type { Lane } from '@thrice/core';
import { type ListedModel, listEndpointModels } from './call/list-endpoint-models.ts';
import { protocols } from './protocols.ts';
import type { HttpTransport } from './transport/http-transport.ts';

/** Which models to list. */
interface ListModelsInit {
  readonly lane: Pick<Lane, 'protocol'>;
  /** One of the lane's base URLs. */
  readonly endpoint: string;
  /** The lane's API key; undefined if it needs none. */
  readonly key: string | undefined;
  readonly transport: HttpTransport;
}

/**
 * Lists the models that an endpoint of a lane serves; empty if the endpoint lists none.
 *
 * @throws {ThriceError} `auth-failed` for a rejected key, `endpoint-unreachable` for any other failure.
 */
export async function listModels({
  lane: { protocol },
  ...server
}: ListModelsInit): Promise<readonly ListedModel[]> {
  return await listEndpointModels({ protocol: protocols[protocol], ...server });
}
