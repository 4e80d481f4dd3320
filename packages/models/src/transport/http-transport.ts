import type { ThriceError } from '@thrice/core';

/** Headers by lowercase name; several of one name are in an array. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Stops a request from outside. */
export interface StopSource {
  /** Calls the listener once: when the request has to stop, or at once if it already has to. */
  onStop(listener: () => void): void;
}

/** A request to an endpoint. */
export interface HttpRequest {
  /** In addition to the endpoint's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly stop: StopSource;
}

/** A request with a body. */
export interface HttpPost extends HttpRequest {
  /** JSON, unless the endpoint's headers say otherwise. */
  readonly body: string;
}

/** A response whose head has arrived. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  /**
   * Reads the body, once, without its content encoding. Every response has to be read, and at once: until then it
   * keeps its connection, and what arrives of it stays in memory.
   *
   * @param maxBytes - A body that is longer, encoded or decoded, ends there, and its connection is closed.
   * @param onPiece - Called for each piece as it arrives. Returns true once it needs no more: the rest is not read.
   *   What it throws ends the body as well, and closes the connection.
   * @returns Why the body is incomplete, after all that arrived; undefined if it is complete, or if `onPiece`
   *   needed no more: `connection-failed` if it breaks off or is stopped, `truncated-response` if it is too long or
   *   cannot be decoded.
   */
  readBody(maxBytes: number, onPiece: (piece: Buffer) => boolean): Promise<ThriceError | undefined>;
  /** Lets the server wait with the rest of the body; pieces that are on their way still arrive. */
  pause(): void;
  /** Goes on after {@link pause}. */
  resume(): void;
}

/**
 * One URL, to which requests are sent, each of them once: one that fails is not sent again, not even on a kept
 * connection that the server was closing, because the server may have received it. No redirect is followed.
 *
 * Requests resolve when the head of the response has arrived, whatever its status.
 *
 * @throws {ThriceError} If no head arrives: `connection-failed`, also for a request that was stopped;
 *   `endpoint-unreachable` for a proxy that refuses or a certificate that cannot be verified; `truncated-response`
 *   for something that is not HTTP.
 */
export interface HttpEndpoint {
  post(request: HttpPost): Promise<HttpResponse>;
  get(request: HttpRequest): Promise<HttpResponse>;
}

/** Sends HTTP requests over connections that it keeps open. */
export interface HttpTransport extends AsyncDisposable {
  /**
   * @param headers - Sent with every request.
   * @throws {ThriceError} `endpoint-unreachable` for a proxy or certificates in the environment that are unusable.
   */
  open(url: string, headers: Readonly<Record<string, string>>): HttpEndpoint;
}

/** A body as far as it arrived. */
export interface ReceivedText {
  readonly text: string;
  /** Why the rest did not arrive; undefined for a complete body. */
  readonly failure: ThriceError | undefined;
}

/** Reads a body as UTF-8, to its end or as far as it arrives; see {@link HttpResponse.readBody}. */
export async function readText(response: HttpResponse, maxBytes: number): Promise<ReceivedText> {
  const pieces: Buffer[] = [];
  const failure = await response.readBody(maxBytes, (piece) => {
    pieces.push(piece);
    return false;
  });
  return { text: decodeText(pieces), failure };
}

/** Decodes UTF-8 without its byte order mark. */
export function decodeText(pieces: readonly Buffer[]): string {
  const [first] = pieces;
  const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
