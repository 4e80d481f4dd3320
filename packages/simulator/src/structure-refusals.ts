import type { ApiError } from './api-error.ts';
import type { ModelBehaviour } from './load-behaviour.ts';

/** How servers refuse structured output, in their words and with their status. */
export const STRUCTURE_REFUSALS: Readonly<
  Record<NonNullable<ModelBehaviour['refusesStructuredOutput']>, ApiError>
> = {
  // An older model: https://github.com/langchain-ai/langchain/issues/31490 (2025-06).
  openai: {
    status: 400,
    type: 'invalid_request_error',
    code: null,
    message:
      "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs",
  },
  // With xgrammar: https://github.com/vllm-project/vllm/issues/16321 (2025-04).
  vllm: {
    status: 400,
    type: 'BadRequestError',
    code: null,
    message: 'The provided JSON schema contains features not supported by xgrammar.',
  },
  // Its servers before September 2024, and forks since: https://github.com/ikawrakow/ik_llama.cpp/issues/778 (2025-09).
  'llama.cpp': {
    status: 500,
    type: 'server_error',
    code: null,
    message: 'response_format type must be one of "text" or "json_object", but got: json_schema',
  },
  // https://github.com/ollama/ollama/issues/8325 (2025-01), https://github.com/datalab-to/marker/issues/984 (2026-02).
  ollama: {
    status: 500,
    type: 'api_error',
    code: null,
    message: 'invalid JSON schema in format',
  },
};
