import type { Protocol } from '@thrice/core';
import { anthropicProtocol } from './anthropic/anthropic-protocol.ts';
import type { WireProtocol } from './call/wire-protocol.ts';
import { chatProtocol } from './chat/chat-protocol.ts';
import { responsesProtocol } from './responses/responses-protocol.ts';

/** The wire protocols that a lane can name. */
export const protocols: Readonly<Record<Protocol, WireProtocol>> = {
  chat: chatProtocol,
  responses: responsesProtocol,
  anthropic: anthropicProtocol,
};
