/** Model clients: what speaks to vendors, one file a wire protocol. */

export { listModels } from './list-models.ts';
export { mapHttpError } from './map-http-error.ts';
export { mapLimitText } from './map-limit-text.ts';
export { OpenAiModelClient } from './openai-model-client.ts';
export { parseDuration, parseRetryAfter } from './parse-reset.ts';
export { createPooledFetch, type PooledFetch } from './pooled-fetch.ts';
