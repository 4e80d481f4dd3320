import type { ClientFor, ModelClient, Protocol } from '@thrice/core';
import { LaneModelClient, type ModelClientInit } from './call/lane-model-client.ts';
import { protocols } from './protocols.ts';

/** The model clients of a process, one per wire protocol. Disposing of them closes their connections. */
export interface ModelClients extends AsyncDisposable {
  readonly clientFor: ClientFor;
}

/** Opens the model clients; each is created for the first lane that uses its protocol. */
export function openModelClients(init: ModelClientInit): ModelClients {
  const clients = new Map<Protocol, ModelClient>();
  return {
    clientFor: ({ protocol }) => {
      const client = clients.get(protocol) ?? new LaneModelClient(protocols[protocol], init);
      clients.set(protocol, client);
      return client;
    },
    [Symbol.asyncDispose]: () => init.transport[Symbol.asyncDispose](),
  };
}
