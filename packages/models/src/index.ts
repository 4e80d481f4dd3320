/** Model clients: what speaks to vendors, one file a wire protocol. */

export { OpenAiModelClient } from './chat/openai-model-client.ts';
export { listModels } from './list-models.ts';
export { createPooledFetch, type PooledFetch } from './pooled-fetch.ts';
export { mapHttpError } from './vendors/map-http-error.ts';
export { mapLimitText } from './vendors/map-limit-text.ts';
export { parseDuration, parseRetryAfter } from './vendors/parse-reset.ts';
