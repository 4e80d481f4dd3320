import type { ApiError } from './api-error.ts';
import type { CellKey } from './cell-key.ts';
import type { ChatRequest } from './chat-request.ts';

/** Why a simulated model stopped, in OpenAI's words. */
export type FinishReason = 'stop' | 'length';

/** A model's answer before any fault touches it. */
export interface ModelAnswer {
  readonly text: string;
  readonly finishReason: FinishReason;
  /** All output, reasoning included. */
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  /** Time until the last byte, milliseconds; 0 answers at once. */
  readonly latencyMs: number;
}

/** Who answers: recorded texts, simulated behaviour, or one fixed text. */
export interface SimulatedModel {
  /** Names for `GET /v1/models`; empty if any name is served. */
  readonly modelNames: readonly string[];
  /** Depends on its arguments only, never on earlier requests. */
  answer(request: ChatRequest, cell: CellKey | undefined): ModelAnswer | ApiError;
}

/** The usual rule of thumb: a token is about four characters. */
export function estimateTokens(charCount: number): number {
  return Math.ceil(charCount / 4);
}

/** An answer sent at once, its tokens estimated from the text. */
export function instantAnswer(text: string, finishReason: FinishReason = 'stop'): ModelAnswer {
  return {
    text,
    finishReason,
    completionTokens: estimateTokens(text.length),
    reasoningTokens: 0,
    latencyMs: 0,
  };
}

/** Answers every request of every model at once with the same text. */
export function createFixedModel(text: string): SimulatedModel {
  const answer = instantAnswer(text);
  return { modelNames: [], answer: () => answer };
}
