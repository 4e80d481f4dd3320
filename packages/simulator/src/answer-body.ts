import type { FinishReason, ModelAnswer } from './simulated-model.ts';

const streamPieceChars = 24;

/** The body of a response that carries an answer. */
export interface AnswerBody {
  readonly contentType: 'application/json' | 'text/event-stream';
  /** The parts of the body in order: one for JSON, one per event for a stream. */
  readonly pieces: readonly string[];
}

/** An answer and the other fields of its response. */
export interface RenderInput {
  readonly answer: ModelAnswer;
  readonly id: string;
  readonly model: string;
  readonly createdSeconds: number;
  readonly promptTokens: number;
}

/** Renders a `chat.completion` object. */
export function renderJsonBody(input: RenderInput): AnswerBody {
  const { answer, id, model, createdSeconds } = input;
  const body = JSON.stringify({
    id,
    object: 'chat.completion',
    created: createdSeconds,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer.text, refusal: null },
        logprobs: null,
        finish_reason: answer.finishReason,
      },
    ],
    usage: usageOf(input),
    system_fingerprint: 'fp_simulator',
  });
  return { contentType: 'application/json', pieces: [body] };
}

/**
 * Renders the server-sent events of a streamed answer: role, text, finish reason, `[DONE]`.
 *
 * @param includesUsage - Adds a last chunk with empty choices and the usage.
 */
export function renderStreamBody(input: RenderInput, includesUsage: boolean): AnswerBody {
  const { answer, id, model, createdSeconds } = input;
  const usage = includesUsage ? { usage: null } : {};
  const toEvent = (choices: readonly unknown[], extra: object = usage) => {
    const head = { id, object: 'chat.completion.chunk', created: createdSeconds, model };
    return `data: ${JSON.stringify({ ...head, choices, ...extra })}\n\n`;
  };
  const toChoice = (delta: object, finishReason: FinishReason | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason: finishReason },
  ];

  const pieces = [toEvent(toChoice({ role: 'assistant', content: '' }))];
  for (const content of splitText(answer.text, streamPieceChars)) {
    pieces.push(toEvent(toChoice({ content })));
  }
  pieces.push(toEvent(toChoice({}, answer.finishReason)));
  if (includesUsage) pieces.push(toEvent([], { usage: usageOf(input) }));
  pieces.push('data: [DONE]\n\n');
  return { contentType: 'text/event-stream', pieces };
}

/**
 * Truncates a body inside a JSON value, as a failing proxy does.
 *
 * @returns A shorter body whose last JSON value cannot be parsed.
 */
export function truncateBody({ contentType, pieces }: AnswerBody): AnswerBody {
  const whole = pieces.join('');
  const middle = Math.floor(whole.length / 2);
  if (contentType === 'application/json') return { contentType, pieces: [whole.slice(0, middle)] };
  // A cut between two events would only end the stream early, so cut inside the next event.
  const nextEvent = whole.indexOf('{"id"', middle);
  const cut = nextEvent < 0 ? whole.lastIndexOf('{"id"') : nextEvent;
  return { contentType, pieces: [whole.slice(0, cut + 12)] };
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

function usageOf({ answer, promptTokens }: RenderInput) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: answer.completionTokens,
    total_tokens: promptTokens + answer.completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: answer.reasoningTokens },
  };
}
