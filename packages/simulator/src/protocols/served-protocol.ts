import type { IncomingHttpHeaders } from 'node:http';
import type { AnswerBody, RenderInput } from '../answer-body.ts';
import type { ApiError } from '../api-error.ts';
import type { PromptRequest } from '../prompt-request.ts';

/** What a wire protocol says of a request; everything else is the same for all of them. */
export interface ServedProtocol {
  /** Where requests are posted. */
  readonly path: string;
  /**
   * Reads a request, or refuses it as the vendor does.
   *
   * Written by hand instead of with a schema for speed: throughput benchmarks run it for every request.
   */
  parse(body: string, headers: IncomingHttpHeaders): PromptRequest | ApiError;
  /** Renders an answer as a document, or as the events of a stream. */
  render(input: RenderInput, request: PromptRequest): AnswerBody;
  /** Renders an error as a document. */
  describeError(error: ApiError): object;
  /** Renders an error as an event of a stream. */
  errorEvent(error: ApiError): string;
}
