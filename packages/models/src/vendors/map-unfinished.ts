import { ThriceError } from '@thrice/core';

/**
 * Finish reasons of an answer that the vendor could not finish, where the next attempt may.
 *
 * DeepSeek (https://api-docs.deepseek.com/api/create-chat-completion) and OpenRouter
 * (https://openrouter.ai/docs/api-reference/overview), 2026-11.
 */
const UNFINISHED = /^(?:insufficient_system_resource|error)$/;

/** The error that a finish reason means; undefined for one that ends an answer. */
export function mapUnfinished(reason: string | null | undefined): ThriceError | undefined {
  if (reason === null || reason === undefined || !UNFINISHED.test(reason)) return undefined;
  return new ThriceError({
    code: 'model-unavailable',
    message: `the vendor could not finish the answer: ${reason}`,
  });
}

/** Whether a finish reason says that a filter ended the answer. Gemini adds which: `content_filter: RECITATION`. */
export function isFilterReason(reason: string): boolean {
  return /^content_filter(?:$|:)/.test(reason);
}
