import { fieldOf } from '../call/json-value.ts';
import type { WireProtocol } from '../call/wire-protocol.ts';
import { AssembledResponse } from './assembled-response.ts';
import { readResponse } from './read-response.ts';
import { describeBackgroundResponse, describeResponse } from './responses-request.ts';

/** OpenAI's responses, with the types of the `openai` package: the only protocol of some of its models. */
export const responsesProtocol: WireProtocol = {
  path: '/responses',
  modelsPath: '/models',
  headers: (key) => ({ authorization: `Bearer ${key ?? 'none'}` }),
  describeRequest: describeResponse,
  readAnswer: readResponse,
  startAssembly: () => new AssembledResponse(),
  // https://developers.openai.com/api/docs/guides/background (2026-11)
  background: {
    describeRequest: describeBackgroundResponse,
    retrievePath: (responseId) => `/responses/${encodeURIComponent(responseId)}`,
    cancelPath: (responseId) => `/responses/${encodeURIComponent(responseId)}/cancel`,
    isPending,
    readName,
  },
};

/**
 * A name that is safe within a URL. LiteLLM's are some 220 characters of Base64:
 * https://github.com/BerriAI/litellm/pull/19899 (2026-01).
 */
const RESPONSE_ID = /^\w[\w.:=~+-]{0,1023}$/;

function isPending(raw: unknown): boolean {
  const status = fieldOf(raw, 'status');
  return status === 'queued' || status === 'in_progress';
}

function readName(raw: unknown): string | undefined {
  const id = fieldOf(raw, 'id');
  return typeof id === 'string' && RESPONSE_ID.test(id) ? id : undefined;
}
