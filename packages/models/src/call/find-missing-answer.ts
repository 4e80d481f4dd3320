import { ThriceError } from '@thrice/core';
import type { ReadAnswer } from './wire-protocol.ts';

/**
 * Says that a completion holds no answer: it stopped without a text, not even an empty one, without anything in place
 * of a text, and no token is said to have been made.
 *
 * A gateway sends this where the server behind it broke off: LiteLLM's proxy 1.106.2 answers a stream with
 * `{"delta":{},"finish_reason":"stop"}` when the body that it received is not JSON (tried 2026-11-22). An empty text is
 * an answer, and so is nothing at all if tokens were made: a model may think without a word.
 *
 * @returns `truncated-response`; undefined for an answer.
 */
export function findMissingAnswer({
  output,
  finishReason,
  usage,
}: Pick<ReadAnswer, 'output' | 'finishReason' | 'usage'>): ThriceError | undefined {
  if (finishReason !== 'stop' || (usage.outputTokens ?? 0) > 0) return undefined;
  const { text, reasoning, refusal, toolCalls, images } = output;
  const isSilent = text === null && reasoning === null && refusal === null;
  if (!isSilent || toolCalls.length > 0 || images.length > 0) return undefined;
  return new ThriceError({
    code: 'truncated-response',
    message: 'expected an answer, received a completion that stopped without one',
  });
}
