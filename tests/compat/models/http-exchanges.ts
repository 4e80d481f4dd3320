import type { Piece, TappedConnection } from './wire-tap.ts';

/** One request and what the server sent for it, read from the bytes on the wire. */
export interface HttpExchange {
  /** When the last byte of the request's head was sent, ms on the clock of `performance.now()`. */
  readonly startedMs: number;
  readonly path: string;
  /** The cell that the request was made for, as the header names it; undefined if it names none. */
  readonly cell: string | undefined;
  /** Undefined if no complete head of a response arrived. */
  readonly status: number | undefined;
  readonly headers: ReadonlyMap<string, string>;
  /** The body without its chunked framing, as far as it arrived. */
  readonly body: string;
  /** Whether the body arrived to its end. */
  readonly isComplete: boolean;
  /** Who ended the connection during this exchange; undefined if it stayed open. */
  readonly endedBy: 'client' | 'server' | undefined;
}

interface Head {
  readonly firstLine: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly bodyAt: number;
}

interface Body {
  readonly bytes: Buffer;
  readonly endsAt: number;
  readonly isComplete: boolean;
}

const CELL_HEADER = 'x-thrice-cell';

/** Reads the exchanges of HTTP/1.1 connections, oldest first. */
export function readExchanges(connections: readonly TappedConnection[]): readonly HttpExchange[] {
  return connections
    .flatMap(readConnection)
    .toSorted((left, right) => left.startedMs - right.startedMs);
}

function readConnection(connection: TappedConnection): HttpExchange[] {
  const sent = Buffer.concat(connection.fromClient.map(({ bytes }) => bytes));
  const received = Buffer.concat(connection.fromServer.map(({ bytes }) => bytes));
  const exchanges: HttpExchange[] = [];
  let requestAt = 0;
  let responseAt = 0;
  for (;;) {
    const request = readHead(sent, requestAt);
    if (request === undefined) return exchanges;
    requestAt = readBody(sent, request, false).endsAt;
    const response = readResponseHead(received, responseAt);
    const body = response && readBody(received, response, connection.endedBy === 'server');
    responseAt = body?.endsAt ?? received.length;
    exchanges.push({
      startedMs: timeAt(connection.fromClient, request.bodyAt),
      path: request.firstLine.split(' ')[1] ?? '',
      cell: request.headers.get(CELL_HEADER),
      status: response && Number(response.firstLine.split(' ')[1]),
      headers: response?.headers ?? new Map(),
      body: body?.bytes.toString('utf8') ?? '',
      isComplete: body?.isComplete ?? false,
      endedBy: body?.isComplete === true ? undefined : connection.endedBy,
    });
  }
}

/** An interim response (1xx) announces the real one. */
function readResponseHead(bytes: Buffer, start: number): Head | undefined {
  const head = readHead(bytes, start);
  return head && / 1\d\d /.test(`${head.firstLine} `) ? readResponseHead(bytes, head.bodyAt) : head;
}

function readHead(bytes: Buffer, start: number): Head | undefined {
  const end = bytes.indexOf('\r\n\r\n', start);
  if (end === -1) return undefined;
  const [firstLine = '', ...lines] = bytes.toString('latin1', start, end).split('\r\n');
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { firstLine, headers, bodyAt: end + 4 };
}

/** @param isToEnd - Whether a body without a length ends with the connection, not at once. */
function readBody(bytes: Buffer, { headers, bodyAt }: Head, isToEnd: boolean): Body {
  if (/chunked/i.test(headers.get('transfer-encoding') ?? '')) return readChunks(bytes, bodyAt);
  const length = headers.get('content-length');
  if (length === undefined) {
    const endsAt = isToEnd ? bytes.length : bodyAt;
    return { bytes: bytes.subarray(bodyAt, endsAt), endsAt, isComplete: true };
  }
  const endsAt = bodyAt + Number(length);
  return {
    bytes: bytes.subarray(bodyAt, endsAt),
    endsAt: Math.min(endsAt, bytes.length),
    isComplete: endsAt <= bytes.length,
  };
}

function readChunks(bytes: Buffer, bodyAt: number): Body {
  const chunks: Buffer[] = [];
  const cutOff = () => ({ bytes: Buffer.concat(chunks), endsAt: bytes.length, isComplete: false });
  let at = bodyAt;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return cutOff();
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const chunkAt = lineEnd + 2;
    chunks.push(bytes.subarray(chunkAt, chunkAt + size));
    at = chunkAt + size + 2;
    if (at > bytes.length) return cutOff();
    if (size === 0) return { bytes: Buffer.concat(chunks), endsAt: at, isComplete: true };
  }
}

/** When the byte before an offset was sent. */
function timeAt(pieces: readonly Piece[], offset: number): number {
  let length = 0;
  for (const { at, bytes } of pieces) {
    length += bytes.length;
    if (length >= offset) return at;
  }
  return pieces.at(-1)?.at ?? 0;
}
