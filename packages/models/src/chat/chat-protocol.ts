import type { WireProtocol } from '../call/wire-protocol.ts';
import { AssembledCompletion } from './assembled-completion.ts';
import { describeCompletion } from './chat-request.ts';
import { readCompletion } from './read-completion.ts';

/** Chat completions, with the types of the `openai` package: what most vendors and model servers speak. */
export const chatProtocol: WireProtocol = {
  path: '/chat/completions',
  modelsPath: '/models',
  // Some servers that need no key expect the header.
  headers: (key) => ({ authorization: `Bearer ${key ?? 'none'}` }),
  describeRequest: describeCompletion,
  readAnswer: readCompletion,
  startAssembly: () => new AssembledCompletion(),
};
