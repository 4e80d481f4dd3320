import type { IncomingHttpHeaders } from 'node:http';
import type { ReportedTokens } from '../answer-body.ts';
import { type ApiError, isApiError } from '../api-error.ts';
import type { ServedProtocol } from '../protocols/served-protocol.ts';
import { questionKey, type RequestCounter } from '../request-stats.ts';
import { estimateTokens, type SimulatedModel } from '../simulated-model.ts';
import type { SimulatorClock } from '../system-clock.ts';

/** Services shared by all batches. */
export interface BatchServices {
  readonly model: SimulatedModel;
  readonly counter: RequestCounter;
  readonly clock: SimulatorClock;
}

/** A request of a batch. */
export interface BatchRow {
  readonly customId: string;
  /** The body of the request, JSON. */
  readonly body: string;
}

/** What became of a request that was worked on. */
export interface RowAnswer {
  readonly customId: string;
  readonly status: number;
  /** The body that a live call would have got, JSON. */
  readonly text: string;
}

/** What a request that a fault fails is answered with. */
const SERVER_ERROR: ApiError = {
  status: 500,
  type: 'server_error',
  code: null,
  message: 'The server had an error while processing your request. Sorry about that!',
};

/** Answers a request of a batch as a live one, and counts and bills it. */
export function answerRow(
  row: BatchRow,
  {
    id,
    protocol,
    headers,
    services,
    hasFailed,
  }: {
    readonly id: string;
    readonly protocol: ServedProtocol;
    /** Of the submission. */
    readonly headers: IncomingHttpHeaders;
    readonly services: BatchServices;
    /** A fault fails it. */
    readonly hasFailed: boolean;
  },
): RowAnswer {
  const { model, counter, clock } = services;
  const prompt = protocol.parse(row.body, headers);
  counter.open();
  const refuse = (error: ApiError, key?: string): RowAnswer => {
    counter.close(key, false);
    return {
      customId: row.customId,
      status: error.status,
      text: JSON.stringify(protocol.describeError(error)),
    };
  };
  if (isApiError(prompt)) return refuse(prompt);
  const key = questionKey(prompt);
  if (key !== undefined) counter.ask(key);
  if (hasFailed) return refuse(SERVER_ERROR, key);
  const reply = model.answer(prompt, undefined, row.body);
  if (isApiError(reply)) return refuse(reply, key);
  const body = protocol.render(
    {
      answer: reply,
      hasAnswer: true,
      id,
      model: prompt.model,
      createdSeconds: Math.floor(clock.now() / 1000),
      promptTokens: estimateTokens(prompt.promptChars),
      isBatched: true,
    },
    { ...prompt, isStream: false, isBackground: false },
  );
  const tokens = tokensOfRow(body.tokens);
  counter.bill(tokens);
  counter.close(key, true);
  return { customId: row.customId, status: 200, text: body.pieces.join('') };
}

function tokensOfRow(tokens: ReportedTokens | undefined): ReportedTokens {
  return tokens ?? { inputTokens: 0, outputTokens: 0 };
}
