import type { ErrorRow } from './error-row.ts';

/** Codes and types of rate limits. */
export const RATE_LIMIT_WORDS: readonly (string | RegExp)[] = [
  // OpenAI, Anthropic, Groq, SambaNova.
  'rate_limit_exceeded',
  'rate_limit_error',
  'tokens',
  // Gemini, xAI.
  'resource_exhausted',
  'resource-exhausted',
  // Mistral.
  'rate_limited',
  // Moonshot.
  'rate_limit_reached_error',
  'engine_overloaded_error',
  // Cerebras.
  'too_many_requests_error',
  // GitHub Models.
  'ratelimitreached',
  // LiteLLM.
  'throttling_error',
  // MiniMax.
  'status_code:1002',
  'status_code:1039',
  // Without a source.
  'rate_limit',
  'requests',
  'too_many_requests',
  'throttlingexception',
  /^throttling\..*$/,
  'queue_exceeded',
];

/** By words alone, for an error that comes without any status. */
export const WORD_ROWS: readonly ErrorRow[] = [
  {
    code: 'model-rate-limited',
    words: RATE_LIMIT_WORDS,
  },
  {
    // Anthropic, Vertex AI, xAI.
    code: 'auth-failed',
    words: ['permission_error', 'permission_denied', 'permission-denied'],
  },
  {
    code: 'model-unavailable',
    words: [
      // OpenAI, OpenRouter, llama.cpp.
      'server_error',
      'server_is_overloaded',
      'error',
      // Anthropic, Ollama.
      'overloaded_error',
      'api_error',
      // Gemini.
      'unavailable',
      // Mistral.
      'service_unavailable',
      // Bedrock, vLLM.
      'internalservererror',
      // Text Generation Inference.
      'generation',
      // MiniMax.
      'status_code:1000',
      'status_code:1024',
      'status_code:1033',
      // Without a source.
      'incomplete_generation',
      'internal',
      'internal_error',
      'internal_server_error',
      'serviceunavailable',
    ],
  },
  {
    // Anthropic, Gemini, MiniMax; the first without a source.
    code: 'model-timeout',
    words: ['timeout', 'timeout_error', 'deadline_exceeded', 'status_code:1001'],
  },
  {
    // Anthropic, vLLM, Gemini.
    code: 'unknown-model',
    words: ['not_found_error', 'notfounderror', 'not_found'],
  },
  {
    code: 'invalid-request',
    words: [
      // OpenAI, Anthropic.
      'invalid_request_error',
      // Gemini.
      'invalid_argument',
      // vLLM, SGLang.
      'badrequesterror',
      // Text Generation Inference.
      'validation',
      // Without a source.
      'validation_error',
      'bad_request',
    ],
  },
  {
    code: 'model-rate-limited',
    texts: [
      /\brate[ -]limit(?:ed| reached| exceeded)\b/i,
      /\btoo many requests\b/i,
      // Bedrock.
      /\btoo many tokens, please wait\b/i,
    ],
  },
  { code: 'invalid-request', texts: [/\binvalid params?\b/i] },
  {
    code: 'model-unavailable',
    texts: [
      /\boverloaded\b/i,
      /\bserver (?:had an )?error\b/i,
      /\binternal error\b/i,
      /\bupstream\b/i,
    ],
  },
];
