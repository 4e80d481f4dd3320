import type { Usage } from '@thrice/core';
import { isSaid } from '../vendors/read-error.ts';
import { fieldOf, isRecord } from './json-value.ts';

/** The tokens of a call that no model worked on. */
export const NO_TOKENS: Usage = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  longCacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  serviceTier: null,
};

/** The error object of a body, or its error text; undefined if it has none. */
export function errorFieldOf(raw: unknown): object | string | undefined {
  const error = fieldOf(raw, 'error');
  if (isRecord(error) && isSaid(error)) return error;
  return typeof error === 'string' && error !== '' ? error : undefined;
}

/** No vendor names a model by more; the path of a file is compared by its end. */
const MAX_MODEL_CHARS = 300;

/** The model that a body names, or the end of a name that is too long; null if it names none. */
export function readServedModel(raw: unknown): string | null {
  const model = fieldOf(raw, 'model');
  if (typeof model !== 'string') return null;
  if (model.length <= MAX_MODEL_CHARS) return model;
  return `…${model.slice(1 - MAX_MODEL_CHARS).toWellFormed()}`;
}

/** A token count; null for one that is missing or unreadable: the answer is kept. */
export function readCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** The service tier that a body or its usage names; null if it names none. */
export function readServiceTier(value: unknown): string | null {
  return typeof value === 'string' && value.length <= 64 ? emptyToNull(value) : null;
}

/** A text; null for one that is missing or empty. */
export function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
