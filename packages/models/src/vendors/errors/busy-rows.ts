import type { ErrorRow } from './error-row.ts';

/** What the servers themselves could not do, for now. */
export const BUSY_ROWS: readonly ErrorRow[] = [
  {
    code: 'model-unavailable',
    status: [200, 400, 403, 404, 424, 498],
    words: [
      // Groq, 498.
      'capacity_exceeded',
      // Anthropic.
      'overloaded_error',
      // Text Generation Inference.
      'overloaded',
      // llama.cpp.
      'unavailable_error',
      // Mistral.
      'service_unavailable',
      // DeepSeek.
      'insufficient_system_resource',
      // Without a source.
      'server_overloaded',
    ],
  },
  {
    // What gateways put into a 400, and Groq into its 498.
    code: 'model-unavailable',
    status: [400, 403, 498],
    texts: [
      // Groq, Mistral.
      /\bcapacity exceeded\b/i,
      // Moonshot, Hugging Face.
      /\bcurrently (?:overloaded|loading)\b/i,
      // nginx.
      /\btemporarily unavailable\b/i,
      // Without a source.
      /\bserver is overloaded\b/i,
      /\bmodel (?:has )?(?:crashed|unloaded)\b/i,
    ],
  },
  // llama.cpp: the server was started without what the request needs.
  { code: 'invalid-request', status: [501], words: ['not_supported_error'] },
];
