import type { WireProtocol } from '../call/wire-protocol.ts';
import { AssembledMessage } from './assembled-message.ts';
import { describeMessage } from './message-request.ts';
import { readMessage } from './read-message.ts';

/**
 * The version of the protocol that takes `temperature`, for the models that take it; 2026-10-21 refuses it for all.
 *
 * @see https://platform.claude.com/docs/en/api/versioning (2026-11)
 */
const VERSION = '2023-06-01';

/**
 * Anthropic's messages. Written by hand: its package would add a second transport to a bundle, and the compatible
 * endpoint "is not considered a long-term or production-ready solution".
 *
 * @see https://platform.claude.com/docs/en/api/messages and the types of `@anthropic-ai/sdk` 1.12.0 (2026-11-20)
 * @see https://platform.claude.com/docs/en/api/openai-sdk
 */
export const anthropicProtocol: WireProtocol = {
  path: '/messages',
  // The list has pages: https://platform.claude.com/docs/en/api/models/list (limit 1..1000).
  modelsPath: '/models?limit=1000',
  headers: (key) => ({
    'anthropic-version': VERSION,
    ...(key === undefined ? {} : { 'x-api-key': key }),
  }),
  describeRequest: describeMessage,
  readAnswer: readMessage,
  startAssembly: () => new AssembledMessage(),
};
