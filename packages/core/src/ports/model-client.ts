import type { Lane } from '../domain/benchmark.ts';
import type { FinishReason, ModelOutput } from '../domain/call.ts';
import type { CellKey } from '../domain/cell.ts';
import type { Message } from '../domain/question.ts';

/** One request to a model. */
export interface ModelRequest {
  readonly lane: Lane;
  readonly model: string;
  readonly messages: readonly Message[];
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  readonly isStreamed: boolean;
  /** Merged into the body last: what the fields above cannot say. */
  readonly extraBody: Readonly<Record<string, unknown>> | undefined;
  /** Which call of which cell this is: a local endpoint is told, for its log. */
  readonly cell: CellKey;
  readonly step: string;
}

/** Tokens as the vendor counted them; unknown is null, never 0. */
export interface Usage {
  readonly inputTokens: number | null;
  readonly cachedInputTokens: number | null;
  readonly outputTokens: number | null;
  readonly reasoningTokens: number | null;
}

/** One answered request. */
export interface ModelResponse {
  readonly endpoint: string;
  readonly servedModel: string | null;
  readonly output: ModelOutput;
  readonly finishReason: FinishReason | null;
  readonly rawFinishReason: string | null;
  readonly usage: Usage;
  readonly latencyMs: number;
  readonly ttftMs: number | null;
  readonly raw: unknown;
}

/**
 * Sends requests to models; one try each, no retries of its own.
 *
 * **Errors.** Every failure is a {@link ThriceError} of class `transient`, `rate-limited`,
 * `exhausted`, `misconfigured` or `rejected`, decided once here; `interrupted` when `signal` aborts.
 */
export interface ModelClient {
  send(request: ModelRequest, signal: AbortSignal): Promise<ModelResponse>;
}
