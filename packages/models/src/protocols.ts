import type { ModelClient, Protocol } from '@thrice/core';
import { ChatModelClient, type ModelClientInit } from './chat/chat-model-client.ts';
import { listChatModels } from './chat/list-chat-models.ts';

/** What a wire protocol provides. */
interface ProtocolAdapter {
  readonly openClient: (init: ModelClientInit) => ModelClient;
  /** Lists the names of an endpoint's models; see `listModels`. */
  readonly listModels: (endpoint: string, key: string | undefined) => Promise<readonly string[]>;
}

/** The wire protocols that a lane can name. */
export const protocols: Readonly<Record<Protocol, ProtocolAdapter>> = {
  chat: { openClient: (init) => new ChatModelClient(init), listModels: listChatModels },
};
