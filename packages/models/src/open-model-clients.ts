import { assertNever, type ClientFor, type Lane, type ModelClient } from '@thrice/core';
import { ChatModelClient, type ModelClientInit } from './chat/chat-model-client.ts';

/** The model clients of a process, one a wire protocol; disposing of them closes their connections. */
export interface ModelClients extends AsyncDisposable {
  readonly clientFor: ClientFor;
}

/** Opens the model clients; each is made when a lane first speaks its protocol. */
export function openModelClients(init: ModelClientInit): ModelClients {
  const clients = new Map<Lane['protocol'], ModelClient>();
  return {
    clientFor: ({ protocol }) => {
      const client = clients.get(protocol) ?? createClient(protocol, init);
      clients.set(protocol, client);
      return client;
    },
    [Symbol.asyncDispose]: () => init.pool[Symbol.asyncDispose](),
  };
}

function createClient(protocol: Lane['protocol'], init: ModelClientInit): ModelClient {
  switch (protocol) {
    case 'chat':
      return new ChatModelClient(init);
    default:
      return assertNever(protocol);
  }
}
