import type { ThriceError } from '@thrice/core';
import type { CallTimeout } from '../transport/call-timeout.ts';
import { decodeText, type HttpResponse } from '../transport/http-transport.ts';
import { bodyTooLong } from '../transport/map-transport-error.ts';

/** The longest line: one answer, with its images. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
/** What may wait to be read before the server has to. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** There is no longest file: it is never held. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

const LINE_FEED = 0x0a;

/**
 * Reads the lines of a body, no faster than they are taken. The time runs only while the server is waited for.
 *
 * @returns Why the body is incomplete; undefined if it is complete. The last line needs no line feed.
 */
export async function* readLines(
  response: HttpResponse,
  timeout: CallTimeout,
): AsyncGenerator<string, ThriceError | undefined> {
  const lines = new WaitingLines();
  let signalArrival: () => void = () => undefined;
  let isOver = false;
  const end = response
    .readBody(NO_LIMIT, (piece) => {
      lines.add(piece);
      timeout.restart();
      if (lines.bytes > MAX_WAITING_BYTES) {
        timeout.hold();
        response.pause();
      }
      signalArrival();
      return false;
    })
    .finally(() => {
      isOver = true;
      signalArrival();
    });
  for (;;) {
    yield* lines.take();
    if (isOver) break;
    const arrival = new Promise<void>((resolve) => {
      signalArrival = resolve;
    });
    timeout.restart();
    response.resume();
    if (!lines.isWaiting && !isFinished()) await arrival;
  }
  yield* lines.take();
  const failure = await end;
  const last = lines.takeRest();
  if (failure === undefined && last !== '') yield last;
  return failure;

  function isFinished(): boolean {
    return isOver;
  }
}

/** Lines that have arrived, and the beginning of the next. */
class WaitingLines {
  #lines: string[] = [];
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #lineBytes = 0;

  /** Of the lines that wait. */
  get bytes(): number {
    return this.#lineBytes;
  }

  get isWaiting(): boolean {
    return this.#lines.length > 0;
  }

  /** @throws {ThriceError} `truncated-response` for a line that is too long. */
  add(piece: Buffer): void {
    let start = 0;
    for (;;) {
      const end = piece.indexOf(LINE_FEED, start);
      if (end < 0) break;
      this.#begun.push(piece.subarray(start, end));
      const line = this.takeRest();
      this.#lineBytes += line.length;
      this.#lines.push(line);
      start = end + 1;
    }
    const rest = piece.subarray(start);
    this.#begunBytes += rest.length;
    if (this.#begunBytes > MAX_LINE_BYTES) throw bodyTooLong(MAX_LINE_BYTES);
    if (rest.length > 0) this.#begun.push(rest);
  }

  take(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#lineBytes = 0;
    return lines;
  }

  /** Takes what has arrived of the next line. */
  takeRest(): string {
    const text = decodeText(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    return text;
  }
}
