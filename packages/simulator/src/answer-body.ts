import type { ModelAnswer } from './simulated-model.ts';

const STREAM_PIECE_CHARS = 24;
const EVENT_START = 'data: {';
/** What ends an answer, in the protocols that the simulator speaks. */
const FINISH = /"(?:finish|stop)_reason":"|"type":"response\.(?:completed|incomplete)"/;

/** Token counts as a response reports them. */
export interface ReportedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The body of a response with a successful status. */
export interface AnswerBody {
  readonly contentType: 'application/json' | 'text/event-stream';
  /** The parts of the body in order: one for JSON, one per event for a stream. */
  readonly pieces: readonly string[];
  /** What the body reports; undefined if it reports no tokens. */
  readonly tokens: ReportedTokens | undefined;
  /** How many of the pieces it takes to report them. @default all */
  readonly reportingCount?: number;
  /** What the first piece of a stream reports. @default nothing */
  readonly firstTokens?: ReportedTokens;
}

/** An answer and the other fields of its response. */
export interface RenderInput {
  readonly answer: ModelAnswer;
  /** False for a body that reports the tokens of the answer, but does not have it. */
  readonly hasAnswer: boolean;
  readonly id: string;
  readonly model: string;
  readonly createdSeconds: number;
  readonly promptTokens: number;
  /** It is of a request in a batch. @default false */
  readonly isBatched?: boolean;
}

/**
 * Truncates a body inside a JSON value, as a failing proxy does.
 *
 * @returns A shorter body whose last JSON value cannot be parsed.
 */
export function truncateBody({ contentType, pieces, firstTokens }: AnswerBody): AnswerBody {
  const whole = pieces.join('');
  const middle = Math.floor(whole.length / 2);
  const truncate = (chars: number): AnswerBody => ({
    contentType,
    pieces: [whole.slice(0, chars)],
    tokens: firstTokens,
  });
  if (contentType === 'application/json') return truncate(middle);
  // A cut between two events would only end the stream early, so cut inside an event, and no later than in the one
  // that ends the answer: what follows is not missed.
  const finishing = whole.lastIndexOf(EVENT_START, whole.search(FINISH));
  const nextEvent = whole.indexOf(EVENT_START, middle);
  const cut = nextEvent < 0 ? finishing : Math.min(nextEvent, finishing);
  return truncate(cut + EVENT_START.length + 11);
}

/** The tokens that the first bytes of a body report. */
export function tokensWithin(
  { pieces, tokens, firstTokens, reportingCount = pieces.length }: AnswerBody,
  byteCount: number,
): ReportedTokens | undefined {
  const isWithin = (count: number) =>
    byteCount >= Buffer.byteLength(pieces.slice(0, count).join(''));
  if (isWithin(reportingCount)) return tokens;
  return isWithin(1) ? firstTokens : undefined;
}

/** Renders a body of one JSON document. */
export function jsonBody(document: object, tokens?: ReportedTokens): AnswerBody {
  return { contentType: 'application/json', pieces: [JSON.stringify(document)], tokens };
}

/** Renders a server-sent event, named after the type of its data. */
export function namedEvent(data: {
  readonly type: string;
  readonly [name: string]: unknown;
}): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Splits the text of an answer as a model streams it. */
export function splitAnswer({ text }: ModelAnswer): string[] {
  return splitText(text, STREAM_PIECE_CHARS);
}

/** The tokens that the response to a request reports. */
export function tokensOf({ answer, promptTokens }: RenderInput): ReportedTokens {
  return { inputTokens: promptTokens, outputTokens: answer.completionTokens };
}

/** Splits text into pieces of about the given length without splitting a surrogate pair. */
export function splitText(text: string, pieceChars: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + pieceChars, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end += 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}
