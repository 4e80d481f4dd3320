import type { FinishReason, ModelAnswer } from './simulated-model.ts';

const streamPieceChars = 24;

/** What is put on the wire for an answer. */
export interface AnswerBody {
  readonly contentType: 'application/json' | 'text/event-stream';
  /** The whole body, in order: one piece for JSON, one per event for a stream. */
  readonly pieces: readonly string[];
}

/** An answer with what its envelope needs. */
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
 * Cuts a body inside a JSON value, as a proxy that gives up half way does.
 *
 * @returns A body shorter than the given one whose (last) JSON value does not parse.
 */
export function truncateBody({ contentType, pieces }: AnswerBody): AnswerBody {
  const whole = pieces.join('');
  const middle = Math.floor(whole.length / 2);
  if (contentType === 'application/json') return { contentType, pieces: [whole.slice(0, middle)] };
  // Between two events a stream would merely end early: cut inside the next one.
  const nextEvent = whole.indexOf('{"id"', middle);
  const cut = nextEvent < 0 ? whole.lastIndexOf('{"id"') : nextEvent;
  return { contentType, pieces: [whole.slice(0, cut + 12)] };
}

/** Cuts text into pieces of about a length, never between the halves of a surrogate pair. */
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
