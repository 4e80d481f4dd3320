import type { Protocol } from '@thrice/core';
import type { WireProtocol } from './call/wire-protocol.ts';
import { chatProtocol } from './chat/chat-protocol.ts';

/** The wire protocols that a lane can name. */
export const protocols: Readonly<Record<Protocol, WireProtocol>> = {
  chat: chatProtocol,
};
