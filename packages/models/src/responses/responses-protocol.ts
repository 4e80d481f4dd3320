import type { WireProtocol } from '../call/wire-protocol.ts';
import { AssembledResponse } from './assembled-response.ts';
import { readResponse } from './read-response.ts';
import { describeResponse } from './responses-request.ts';

/** OpenAI's responses, with the types of the `openai` package: the only protocol of some of its models. */
export const responsesProtocol: WireProtocol = {
  path: '/responses',
  modelsPath: '/models',
  headers: (key) => ({ authorization: `Bearer ${key ?? 'none'}` }),
  describeRequest: describeResponse,
  readAnswer: readResponse,
  startAssembly: () => new AssembledResponse(),
};
