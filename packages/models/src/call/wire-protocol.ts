import type { Lane, ModelRequest, ModelResponse, ThriceError } from '@thrice/core';
import type { APIError } from 'openai/core/error';

/** What the body of a successful response says, and what is wrong with it. */
export interface ReadAnswer
  extends Pick<
    ModelResponse,
    'servedModel' | 'output' | 'finishReason' | 'rawFinishReason' | 'usage'
  > {
  /** `APIError` for an error object; undefined for an answer. */
  readonly problem: ThriceError | APIError | undefined;
}

/** What a body is read with. */
export interface AnswerContext {
  /** The lane that was called: vendors of one protocol differ. */
  readonly lane: Lane;
  /** Now, ms since 1970, for notices that name a time of day. */
  readonly nowMs: number;
}

/** The answer that the events of a stream add up to. */
export interface StreamAssembly {
  /**
   * Adds the JSON of one event.
   *
   * @throws {ThriceError} `truncated-response` for an unreadable event. What was added before is kept.
   * @throws {APIError} For an event that only the protocol knows as an error. It ends the stream.
   */
  add(event: unknown): void;
  /** Whether the model has said anything. */
  hasText(): boolean;
  /** Whether the model has ended its answer. */
  isFinished(): boolean;
  /**
   * Builds the document that the server would have sent without a stream, as far as it arrived.
   *
   * @param error - The error object that ended the stream; undefined if none did.
   */
  build(error: unknown): object;
}

/** What a wire protocol says of responses in the background. */
export interface BackgroundProtocol {
  /**
   * Builds the body of a request whose response the vendor keeps.
   *
   * @param callId - Kept with the response.
   * @throws {ThriceError} `invalid-request` for what the protocol cannot say.
   */
  describeRequest(request: ModelRequest, callId: string): object;
  /** Where a response is retrieved, below the base URL. */
  retrievePath(responseId: string): string;
  /** Where the cancellation of a response is posted, below the base URL. */
  cancelPath(responseId: string): string;
  /** Whether a body is a response that has not ended. */
  isPending(raw: unknown): boolean;
  /** Reads the name of a response; undefined if it has none that is usable within a path. */
  readName(raw: unknown): string | undefined;
}

/** What a wire protocol says of a call; everything else about a call is the same for all of them. */
export interface WireProtocol {
  /** Where calls are posted, below the base URL. */
  readonly path: string;
  /** Where the models are listed, below the base URL: `{ data: [{ id }] }`. */
  readonly modelsPath: string;
  /**
   * The headers that carry the key, and those that the protocol adds.
   *
   * @param key - Undefined if the server needs none.
   */
  headers(key: string | undefined): Readonly<Record<string, string>>;
  /**
   * Builds the body of a request.
   *
   * @throws {ThriceError} `invalid-request` for what the protocol cannot say.
   */
  describeRequest(request: ModelRequest): object;
  /** Reads the document of a successful response, whatever it is. Never throws. */
  readAnswer(raw: unknown, context: AnswerContext): ReadAnswer;
  /** Starts to assemble the stream of a successful response. */
  startAssembly(): StreamAssembly;
  /** Undefined if it has no background mode. */
  readonly background?: BackgroundProtocol;
}
