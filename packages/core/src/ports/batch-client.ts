import type { Lane } from '../domain/benchmark.ts';
import type { PendingResponse } from '../domain/pending-response.ts';
import type { ThriceError } from '../errors.ts';
import type { ModelRequest, ModelResponse } from './model-client.ts';

/** A request of a batch. */
export interface BatchRequest {
  /** Tells its result from the others': unique in its batch, 1 to 64 of the characters `a-z A-Z 0-9 _ -`. */
  readonly customId: string;
  readonly request: ModelRequest;
}

/** Requests to send together, within {@link BatchLimits}. */
export interface BatchSubmission {
  readonly lane: Lane;
  /** The caller's name of it, which the vendor keeps where it can; at most 512 characters. */
  readonly batchId: string;
  readonly requests: Iterable<BatchRequest>;
}

/** How large a batch may be. */
export interface BatchLimits {
  readonly requestCount: number;
  /** Of all requests, as they are sent. */
  readonly bytes: number;
  /** Whether all requests of a batch have to be to one model. */
  readonly hasOneModel: boolean;
}

/** A batch that was submitted, as far as its caller knows. */
export interface LostBatch {
  /** The caller's name of it. */
  readonly batchId: string;
  /** When it was about to be submitted, ms since 1970. */
  readonly sentAtMs: number;
  /** The custom ids of its requests. */
  readonly customIds: ReadonlySet<string>;
  /** The vendor's names of batches that it certainly is not. */
  readonly others: ReadonlySet<string>;
}

/** What a vendor says about a batch. */
export type BatchState =
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'ended';
      /** Why none of its requests was worked on; undefined if they were, or if it was canceled or has expired. */
      readonly problem: ThriceError | undefined;
    };

/** A response to a request of a batch: when it was made, and what it took, is not known. */
export type BatchedResponse = Omit<ModelResponse, 'latencyMs' | 'ttftMs' | 'rateLimits'>;

/** What became of a request of a batch. */
export type BatchResult = { readonly customId: string } & (
  | { readonly kind: 'answered'; readonly response: BatchedResponse }
  /** Not paid for. */
  | { readonly kind: 'refused'; readonly error: ThriceError }
  /** Not worked on in time, and not paid for. */
  | { readonly kind: 'expired' }
  /** Not worked on before the batch was canceled, and not paid for. */
  | { readonly kind: 'canceled' }
);

/**
 * Sends requests through a vendor's batch interface, for less money and an answer within a day.
 *
 * **Payment.** A request that is `answered` is paid for, at the price of the service tier `batch`, which its usage
 * names whatever the vendor calls it. Nothing else is.
 *
 * **Idempotency.** `submit` is not: where its response is lost, the vendor may have the batch, and `find` says so.
 * Everything else may be repeated.
 *
 * **Errors.** They are those of the model client. A batch that the vendor does not know is `unknown-response`.
 *
 * **Limits.** A line of results that cannot be read is passed over: its request has no result, like one that the vendor
 * leaves out. Results take memory for a few of them at a time, however many there are.
 */
export interface BatchClient {
  readonly limits: BatchLimits;
  /** Hands over a batch. */
  submit(submission: BatchSubmission, signal: AbortSignal): Promise<PendingResponse>;
  /** Asks once how far a batch is. */
  poll(lane: Lane, batch: PendingResponse, signal: AbortSignal): Promise<BatchState>;
  /**
   * Reads the results of a batch that has ended, in no particular order.
   *
   * @throws {ThriceError} `invalid-request` for a batch that has not ended; `connection-failed` where the connection
   *   breaks: a new iteration starts from the beginning.
   */
  results(lane: Lane, batch: PendingResponse, signal: AbortSignal): AsyncIterable<BatchResult>;
  /** Asks the vendor to stop; what it has worked on until then has results. One that has ended stays as it is. */
  cancel(lane: Lane, batch: PendingResponse, signal: AbortSignal): Promise<BatchState>;
  /**
   * Finds a batch whose submission had no response that is known. A vendor that keeps no name of it tells by its
   * results, so only once it has ended.
   *
   * @returns Undefined if the vendor does not have it; `unclear` while one that has not ended may be it.
   */
  find(
    lane: Lane,
    batch: LostBatch,
    signal: AbortSignal,
  ): Promise<PendingResponse | 'unclear' | undefined>;
}

/** Chooses the batch client that speaks a lane's wire protocol. */
export type BatchClientFor = (lane: Lane) => BatchClient;
