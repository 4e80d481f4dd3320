import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { type AnswerBody, splitText } from './answer-body.ts';
import { type ApiError, errorObject } from './api-error.ts';
import type { SimulatorClock } from './system-clock.ts';

const dripPieceCount = 20;
const streamGroupCount = 8;
/** Share of a streamed answer's latency that passes before its first token. */
const firstTokenRatio = 0.3;

/** Sends a JSON document in one write. */
export function writeJson(
  response: ServerResponse,
  status: number,
  body: string,
  headers: readonly string[] = [],
): void {
  response.writeHead(status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
    ...headers,
  ]);
  response.end(body);
}

/**
 * Sends an error.
 *
 * @param describe - How the protocol renders it. @default OpenAI's format
 */
export function writeError(
  response: ServerResponse,
  error: ApiError,
  describe: (error: ApiError) => object = errorObject,
): void {
  writeJson(response, error.status, JSON.stringify(describe(error)), error.headers);
}

/** Sends a file of lines, no faster than it is read. */
export function writeLines(response: ServerResponse, lines: Iterable<string>): void {
  response.writeHead(200, ['Content-Type', 'application/x-jsonl']);
  const pieces = (function* () {
    for (const line of lines) yield `${line}\n`;
  })();
  // A client that leaves in the middle is no failure.
  pipeline(Readable.from(pieces), response, () => undefined);
}

/** Sends a 200 response with its whole body immediately. */
export function writeBody(response: ServerResponse, body: AnswerBody): void {
  const whole = body.pieces.join('');
  if (body.contentType === 'application/json') {
    writeJson(response, 200, whole);
    return;
  }
  writeHead(response, body, whole);
  response.end(whole);
}

/** Sends a body after its latency. A stream starts earlier and is spread over the rest of the latency. */
export async function writePacedBody(
  response: ServerResponse,
  body: AnswerBody,
  latencyMs: number,
  clock: SimulatorClock,
): Promise<void> {
  if (body.contentType === 'application/json') {
    if (await waitUnlessClosed(response, latencyMs, clock)) writeBody(response, body);
    return;
  }
  const groups = groupPieces(body.pieces, streamGroupCount);
  const firstTokenMs = latencyMs * firstTokenRatio;
  if (!(await waitUnlessClosed(response, firstTokenMs, clock))) return;
  const gapMs = (latencyMs - firstTokenMs) / Math.max(groups.length - 1, 1);
  await writePieces({ response, body, pieces: groups, gapMs, clock });
}

/** Sends a body in small pieces over a number of seconds. */
export async function writeDrippingBody(
  response: ServerResponse,
  body: AnswerBody,
  seconds: number,
  clock: SimulatorClock,
): Promise<void> {
  const whole = body.pieces.join('');
  const pieces = splitText(whole, Math.ceil(whole.length / dripPieceCount));
  const gapMs = (seconds * 1000) / Math.max(pieces.length - 1, 1);
  await writePieces({ response, body, pieces, gapMs, clock });
}

/**
 * Sends part of a 200 body, then closes the connection.
 *
 * @param byteCount - Body bytes to send, >= 1; at most all but the last byte are sent.
 * @returns How many are sent.
 */
export function writePartialBody(
  response: ServerResponse,
  body: AnswerBody,
  byteCount: number,
): number {
  const whole = body.pieces.join('');
  const bytes = Buffer.from(whole);
  const sentBytes = Math.min(byteCount, bytes.length - 1);
  writeHead(response, body, whole);
  // Close instead of reset: a reset could discard bytes that are still in transit.
  response.write(bytes.subarray(0, sentBytes), () => {
    response.req.socket.destroy();
  });
  return sentBytes;
}

/**
 * Waits, but stops when the client disconnects.
 *
 * @returns Whether the response can still be written.
 */
export async function waitUnlessClosed(
  response: ServerResponse,
  ms: number,
  clock: SimulatorClock,
): Promise<boolean> {
  if (response.destroyed) return false;
  if (ms <= 0) return true;
  const controller = new AbortController();
  const abort = () => controller.abort();
  response.once('close', abort);
  try {
    await clock.sleep(ms, controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  } finally {
    response.off('close', abort);
  }
  return !controller.signal.aborted;
}

function writeHead(response: ServerResponse, body: AnswerBody, whole: string): void {
  const length =
    body.contentType === 'application/json'
      ? ['Content-Length', String(Buffer.byteLength(whole))]
      : ['Cache-Control', 'no-cache'];
  response.writeHead(200, ['Content-Type', body.contentType, ...length]);
}

async function writePieces(input: {
  readonly response: ServerResponse;
  readonly body: AnswerBody;
  readonly pieces: readonly string[];
  readonly gapMs: number;
  readonly clock: SimulatorClock;
}): Promise<void> {
  const { response, body, pieces, gapMs, clock } = input;
  writeHead(response, body, body.pieces.join(''));
  for (const [index, piece] of pieces.entries()) {
    if (index > 0 && !(await waitUnlessClosed(response, gapMs, clock))) return;
    response.write(piece);
  }
  response.end();
}

function groupPieces(pieces: readonly string[], groupCount: number): string[] {
  const size = Math.ceil(pieces.length / groupCount);
  const groups: string[] = [];
  for (let start = 0; start < pieces.length; start += size) {
    groups.push(pieces.slice(start, start + size).join(''));
  }
  return groups;
}
