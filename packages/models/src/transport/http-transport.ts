/** Headers by lowercase name; several of one name are in an array. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Stops a request from outside. */
export interface StopSource {
  /** Calls the listener once: when the request has to stop, or at once if it already has to. */
  onStop(listener: () => void): void;
}

/** A request to an endpoint. */
export interface HttpRequest {
  /** JSON. */
  readonly body: string;
  /** In addition to the endpoint's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly stop: StopSource;
}

/** A response whose head has arrived. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  /**
   * The body, to be read once. Throws where it breaks off, after all that arrived. Closes the connection if it is
   * not read to its end.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/** One URL, to which requests are sent. */
export interface HttpEndpoint {
  /**
   * Posts a request, once, and follows no redirect. Resolves when the head of the response has arrived.
   *
   * @throws {Error} If none arrives: no connection, or the request was stopped.
   */
  post(request: HttpRequest): Promise<HttpResponse>;
}

/** Sends HTTP requests over connections that it keeps open. */
export interface HttpTransport extends AsyncDisposable {
  /** @param headers - Sent with every request. */
  open(url: string, headers: Readonly<Record<string, string>>): HttpEndpoint;
}

/** A body as far as it arrived. */
export interface ReceivedText {
  readonly text: string;
  /** Why the rest did not arrive; undefined for a complete body. */
  readonly failure: unknown;
}

/** Reads a body as UTF-8, to its end or as far as it arrives. */
export async function readText(body: AsyncIterable<Uint8Array>): Promise<ReceivedText> {
  const pieces: Uint8Array[] = [];
  let failure: unknown;
  try {
    for await (const piece of body) pieces.push(piece);
  } catch (error) {
    failure = error;
  }
  return { text: decodeText(pieces), failure };
}

/** Decodes UTF-8 without its byte order mark. */
export function decodeText(pieces: readonly Uint8Array[]): string {
  const [first] = pieces;
  const bytes = pieces.length === 1 && first instanceof Buffer ? first : Buffer.concat(pieces);
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
