import type { Lane, ModelParameters } from '../domain/benchmark.ts';
import type { FinishReason, ModelOutput, Usage } from '../domain/call.ts';
import type { CellKey } from '../domain/cell.ts';
import type { Message, ToolDefinition } from '../domain/message.ts';
import type { ThriceError } from '../errors.ts';
import type { RateLimitHeaders } from './governor.ts';

/** One request to a model. */
export interface ModelRequest extends ModelParameters {
  readonly lane: Lane;
  readonly model: string;
  readonly messages: readonly Message[];
  /** Tools that the model may call; empty for none. */
  readonly tools: readonly ToolDefinition[];
  readonly isStreamed: boolean;
  /** Merged into the body last: what the fields above cannot say. */
  readonly extraBody: Readonly<Record<string, unknown>> | undefined;
  /** Which call of which cell this is: a local endpoint is told, for its log. */
  readonly cell: CellKey;
  readonly step: string;
}

/** What a server sent with a 2xx status. */
export interface ModelResponse {
  readonly endpoint: string;
  readonly servedModel: string | null;
  readonly output: ModelOutput;
  readonly finishReason: FinishReason | null;
  readonly rawFinishReason: string | null;
  readonly usage: Usage;
  readonly latencyMs: number;
  readonly ttftMs: number | null;
  readonly rateLimits: RateLimitHeaders;
  /** The body as received, a stream assembled; `{ text }`, its beginning as far as it arrived, where it is not JSON. */
  readonly raw: unknown;
  /**
   * Why the response is no usable answer; it is paid for all the same. The other fields hold what could be read.
   * A content filter and an unexpected served model are no faults here: the caller judges both.
   */
  readonly fault: ThriceError | undefined;
}

/**
 * Sends requests to models over one wire protocol; one attempt each, no retries of its own.
 *
 * **Payment.** `send` resolves for everything that a server sends with a 2xx status, because all of it is paid
 * for: an error object, a body that is cut off or unreadable, one that runs into the lane's timeout, one that stops
 * because `signal` aborts. It rejects only where no 2xx status was received: a refusal by status, no connection, a
 * timeout or an abort before the response.
 *
 * **Errors.** Every rejection and every fault is a {@link ThriceError} of class `transient`, `rate-limited`,
 * `exhausted`, `misconfigured` or `rejected`, decided once here; nothing that a server sends is `internal`. A call
 * that ends because `signal` aborts has its reason as rejection or fault, or `interrupted` if the reason is no
 * {@link ThriceError}.
 *
 * **Endpoints.** A call goes to an endpoint that works, as far as is known. A transient rejection says in its details
 * whether the request never left (`isUnsent`) and whether another endpoint of the lane works (`hasHealthyEndpoint`).
 */
export interface ModelClient {
  send(request: ModelRequest, signal: AbortSignal): Promise<ModelResponse>;
}

/** Chooses the client that speaks a lane's wire protocol. */
export type ClientFor = (lane: Lane) => ModelClient;
