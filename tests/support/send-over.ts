import type { ModelRequest, ModelResponse, Protocol } from '@thrice/core';
import { openModelClients, openTransport } from '@thrice/models';
import { aLane, aModelRequest } from './builders.ts';
import { FakeClock } from './fake-clock.ts';
import { type ReceivedRequest, sendEvents, sendJson, startHttpServer } from './http-server.ts';

/** Sends one request over a wire protocol to a server that answers it with a body, or with a stream of events. */
export async function sendOver(
  protocol: Protocol,
  { body, events }: { readonly body?: unknown; readonly events?: readonly unknown[] },
  parts: Partial<ModelRequest> = {},
): Promise<{ readonly response: ModelResponse; readonly request: ReceivedRequest | undefined }> {
  await using server = await startHttpServer((response) => {
    if (events === undefined) sendJson(response, body);
    else {
      sendEvents(response, events);
      response.end();
    }
  });
  const { clientFor, ...clients } = openModelClients({
    keyOf: () => undefined,
    clock: new FakeClock('2026-01-02T03:04:05.000Z'),
    transport: openTransport({ environment: {} }),
  });
  await using _ = clients;
  const lane = aLane({ protocol, endpoints: [server.url] });
  const request = aModelRequest({ lane, isStreamed: events !== undefined, ...parts });
  const response = await clientFor(lane).send(request, new AbortController().signal);
  return { response, request: server.requests[0] };
}
