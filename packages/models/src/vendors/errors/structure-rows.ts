import type { ErrorRow } from './error-row.ts';

/**
 * The model, or the server, has no structured output, or none of this form. Some send it with the status of their own
 * failures (500), as if it would pass.
 */
export const STRUCTURE_ROWS: readonly ErrorRow[] = [
  {
    code: 'structured-output-refused',
    texts: [
      // OpenAI, Azure, xAI, DeepSeek, Groq (in streams), llama.cpp.
      /\bresponse_format\b.{0,60}\b(?:not supported?|unsupported|unavailable|must be one of|does not support)\b/is,
      // Volcengine.
      /\bresponse_format\.type\b.{0,80}\binvalid value\b/is,
      // Anthropic's models on Bedrock.
      /\boutput_config(?:\.format)?: extra inputs are not permitted\b/i,
      // vLLM.
      /\bjson schema contains features not supported\b/i,
      // Ollama.
      /\binvalid json schema in format\b/i,
      // Without a source.
      /\bnot support (?:response|output)[ _]format\b/i,
      /\btext\.format\b.{0,60}\bnot supported\b/is,
    ],
  },
];
