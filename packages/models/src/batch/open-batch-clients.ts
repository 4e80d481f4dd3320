import type { BatchClient, BatchClientFor, Protocol } from '@thrice/core';
import type { ModelClientInit } from '../call/lane-model-client.ts';
import { protocols } from '../protocols.ts';
import { FileBatchClient } from './file-batch-client.ts';
import { MessageBatchClient } from './message-batch-client.ts';

/** Opens the batch clients of a process, one per wire protocol. Their transport stays the caller's. */
export function openBatchClients(init: ModelClientInit): BatchClientFor {
  const clients = new Map<Protocol, BatchClient>();
  return ({ protocol }) => {
    const client = clients.get(protocol) ?? open(protocol, init);
    clients.set(protocol, client);
    return client;
  };
}

function open(protocol: Protocol, init: ModelClientInit): BatchClient {
  return protocol === 'anthropic'
    ? new MessageBatchClient(protocols.anthropic, init)
    : new FileBatchClient(protocols[protocol], init);
}
