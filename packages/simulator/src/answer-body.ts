import type { FinishReason, ModelAnswer } from './simulated-model.ts';

const streamPieceChars = 24;

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
}

/** An answer and the other fields of its response. */
export interface RenderInput {
  readonly answer: ModelAnswer;
  /** False for a body that reports the tokens of the answer, but has no choices. */
  readonly hasChoices: boolean;
  readonly id: string;
  readonly model: string;
  readonly createdSeconds: number;
  readonly promptTokens: number;
}

/** Renders a `chat.completion` object. */
export function renderJsonBody(input: RenderInput): AnswerBody {
  const { answer, hasChoices, id, model, createdSeconds } = input;
  const choice = {
    index: 0,
    message: { role: 'assistant', content: answer.text, refusal: null },
    logprobs: null,
    finish_reason: answer.finishReason,
  };
  const body = JSON.stringify({
    id,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    ...(hasChoices && { choices: [choice] }),
    usage: usageOf(input),
    system_fingerprint: 'fp_simulator',
  });
  return { contentType: 'application/json', pieces: [body], tokens: tokensOf(input) };
}

/** Renders an error object in a body that is otherwise successful, as one event for a stream. */
export function renderErrorBody(body: string, isStream: boolean): AnswerBody {
  return isStream
    ? { contentType: 'text/event-stream', pieces: [`data: ${body}\n\n`], tokens: undefined }
    : { contentType: 'application/json', pieces: [body], tokens: undefined };
}

/**
 * Renders the server-sent events of a streamed answer: role, text, finish reason, `[DONE]`.
 *
 * @param includesUsage - Adds a last chunk with empty choices and the usage.
 */
export function renderStreamBody(input: RenderInput, includesUsage: boolean): AnswerBody {
  const { answer, hasChoices, id, model, createdSeconds } = input;
  const usage = includesUsage ? { usage: null } : {};
  const toEvent = (choices: readonly unknown[], extra: object = usage) => {
    const head = { id, object: 'chat.completion.chunk', created: createdSeconds, model };
    return `data: ${JSON.stringify({ ...head, choices, ...extra })}\n\n`;
  };
  const toChoice = (delta: object, finishReason: FinishReason | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason: finishReason },
  ];

  const pieces: string[] = [];
  if (hasChoices) {
    pieces.push(toEvent(toChoice({ role: 'assistant', content: '' })));
    for (const content of splitText(answer.text, streamPieceChars)) {
      pieces.push(toEvent(toChoice({ content })));
    }
    pieces.push(toEvent(toChoice({}, answer.finishReason)));
  }
  if (includesUsage) pieces.push(toEvent([], { usage: usageOf(input) }));
  pieces.push('data: [DONE]\n\n');
  const tokens = includesUsage ? tokensOf(input) : undefined;
  return { contentType: 'text/event-stream', pieces, tokens };
}

/**
 * Truncates a body inside a JSON value, as a failing proxy does.
 *
 * @returns A shorter body whose last JSON value cannot be parsed.
 */
export function truncateBody({ contentType, pieces }: AnswerBody): AnswerBody {
  const whole = pieces.join('');
  const middle = Math.floor(whole.length / 2);
  const truncate = (chars: number): AnswerBody => ({
    contentType,
    pieces: [whole.slice(0, chars)],
    tokens: undefined,
  });
  if (contentType === 'application/json') return truncate(middle);
  // A cut between two events would only end the stream early, so cut inside the next event.
  const nextEvent = whole.indexOf('{"id"', middle);
  const cut = nextEvent < 0 ? whole.lastIndexOf('{"id"') : nextEvent;
  return truncate(cut + 12);
}

/** The tokens that the first bytes of a body report: those of a JSON body only if it is whole. */
export function tokensWithin(
  { contentType, pieces, tokens }: AnswerBody,
  byteCount: number,
): ReportedTokens | undefined {
  // The last event, `[DONE]`, reports nothing.
  const reporting = contentType === 'application/json' ? pieces : pieces.slice(0, -1);
  return byteCount >= Buffer.byteLength(reporting.join('')) ? tokens : undefined;
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

function tokensOf({ answer, promptTokens }: RenderInput): ReportedTokens {
  return { inputTokens: promptTokens, outputTokens: answer.completionTokens };
}

function usageOf({ answer, promptTokens }: RenderInput) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: answer.completionTokens,
    total_tokens: promptTokens + answer.completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: answer.reasoningTokens },
  };
}
