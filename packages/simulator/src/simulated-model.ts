import type { ApiError } from './api-error.ts';
import type { RequestedCell } from './cell-key.ts';
import type { PromptRequest } from './prompt-request.ts';

/** Why a simulated model stopped, in OpenAI's terms. */
export type ServedFinishReason = 'stop' | 'length' | 'content_filter';

/** A model's answer before any fault is applied. */
export interface ModelAnswer {
  readonly text: string;
  readonly finishReason: ServedFinishReason;
  /** All output tokens, including reasoning. */
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  /** Time to the last byte, milliseconds; 0 answers immediately. */
  readonly latencyMs: number;
  /** What a recorded answer is sent as, whatever the request asks for. */
  readonly recorded?: {
    readonly document: object;
    readonly inputTokens: number;
  };
}

/** Answers requests: from recordings, by simulated behavior, or with one fixed text. */
export interface SimulatedModel {
  /** Model names for `GET /v1/models`; empty if every name is served. */
  readonly modelNames: readonly string[];
  /**
   * Depends only on its arguments, never on earlier requests, unless the model says otherwise.
   *
   * @param body - The request as it was received.
   */
  answer(
    request: PromptRequest,
    cell: RequestedCell | undefined,
    body: string,
  ): ModelAnswer | ApiError;
}

/** Estimates tokens by the usual rule of thumb of four characters per token. */
export function estimateTokens(charCount: number): number {
  return Math.ceil(charCount / 4);
}

/** Builds an answer without latency whose tokens are estimated from the text. */
export function instantAnswer(
  text: string,
  finishReason: ServedFinishReason = 'stop',
): ModelAnswer {
  return {
    text,
    finishReason,
    completionTokens: estimateTokens(text.length),
    reasoningTokens: 0,
    latencyMs: 0,
  };
}

/**
 * Cuts an answer at the most tokens that its request allows, as vendors do: reasoning counts, and the finish reason is
 * `length`. A recorded answer stays as it is.
 *
 * @see `max_completion_tokens` and `max_output_tokens` in the types of `openai` 7.55.0: "An upper bound for the number
 *   of tokens that can be generated [...], including visible output tokens and reasoning tokens";
 *   https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (2026-11)
 */
export function cutAtLimit(answer: ModelAnswer, { maxTokens }: PromptRequest): ModelAnswer {
  const { text, completionTokens, reasoningTokens } = answer;
  if (maxTokens === undefined || completionTokens <= maxTokens) return answer;
  const keptRatio = Math.max(0, maxTokens - reasoningTokens) / (completionTokens - reasoningTokens);
  return {
    ...answer,
    // Without a visible token there is nothing to keep a part of.
    text: text.slice(0, Math.floor(text.length * keptRatio || 0)),
    finishReason: 'length',
    completionTokens: maxTokens,
    reasoningTokens: Math.min(reasoningTokens, maxTokens),
  };
}

/** States a confidence with an answer, in the way in which the request asks for it. */
export function stateConfidence(
  answer: ModelAnswer,
  confidence: number,
  request: Pick<PromptRequest, 'confidence'>,
): ModelAnswer {
  switch (request.confidence) {
    case 'structured':
      return { ...answer, text: JSON.stringify({ answer: answer.text, confidence }) };
    case 'tagged':
      return {
        ...answer,
        text: `<answer>${answer.text}</answer>\n<confidence>${confidence}</confidence>`,
      };
    case undefined:
      return answer;
  }
}

/** What a model says that does not know how good it is. */
const UNSURE = 0.5;

/** Answers every request immediately with the same text, for any model. */
export function createFixedModel(text: string): SimulatedModel {
  const answer = instantAnswer(text);
  return {
    modelNames: [],
    answer: (request) => cutAtLimit(stateConfidence(answer, UNSURE, request), request),
  };
}
