import {
  type BackgroundClient,
  type BackgroundReply,
  limits,
  type ModelRequest,
  type ModelResponse,
  type PendingResponse,
  toThriceError,
} from '@thrice/core';
import type { EndpointRequest } from './endpoint-request.ts';
import { mapNotFound } from './map-not-found.ts';
import type { BackgroundProtocol } from './wire-protocol.ts';

/** Sends a request to an endpoint of its lane. */
type Send = (request: EndpointRequest) => Promise<ModelResponse>;

/** Creates a client of the background mode of a wire protocol. */
export function createBackgroundClient(protocol: BackgroundProtocol, send: Send): BackgroundClient {
  const sendInTime = async (request: Omit<EndpointRequest, 'timeoutMs'>) =>
    await send({ ...request, timeoutMs: limits.backgroundRequestMs });
  const toReply = (response: ModelResponse, vendorId: string | undefined): BackgroundReply => {
    if (vendorId === undefined || !protocol.isPending(response.raw)) {
      return { kind: 'ended', response };
    }
    const { endpoint, rateLimits } = response;
    return { kind: 'pending', endpoint, vendorId, rateLimits };
  };
  const ask = async (
    request: ModelRequest,
    { endpoint, vendorId }: PendingResponse,
    rest: Pick<EndpointRequest, 'signal' | 'exchange'>,
  ) => {
    const response = await sendInTime({ request, endpoint, ...rest }).catch((error: unknown) => {
      throw mapNotFound(toThriceError(error), vendorId);
    });
    // The name is the one that was asked for, whatever the body says.
    return toReply(response, vendorId);
  };
  return {
    submit: async (request, callId, signal) => {
      const body = () => JSON.stringify(protocol.describeRequest(request, callId));
      const response = await sendInTime({
        request,
        signal,
        exchange: async ({ http }, init) => await http.post({ ...init, body: body() }),
      });
      return toReply(response, protocol.readName(response.raw));
    },
    poll: async (request, response, signal) => {
      const path = protocol.retrievePath(response.vendorId);
      return await ask(request, response, {
        signal,
        exchange: async ({ open }, init) => await open(path).get(init),
      });
    },
    cancel: async (request, response, signal) => {
      const path = protocol.cancelPath(response.vendorId);
      return await ask(request, response, {
        signal,
        exchange: async ({ open }, init) => await open(path).post({ ...init, body: '' }),
      });
    },
  };
}
