import type { ServerResponse } from 'node:http';
import { aCompletion, sendJson, startHttpServer } from './http-server.ts';

/** USD per million tokens: a cent for each call of {@link TOKENS}. */
const price = { input: 1_000, output: 0 } as const;
/** The tokens of each call. */
const TOKENS = 10;
/** What a vendor bills for each answer, USD. */
export const USD_PER_CALL = 0.01;

/** The lines of a spec that price a model as a {@link BillingVendor} bills it. */
export function billedPrice(model: string): string {
  return `[prices."${model}"]\ninput = ${price.input}\noutput = ${price.output}\n`;
}

/** A request, by the step of the cell that makes it. */
export interface BilledRequest {
  /** `run/config/id/step`, as the client names it. */
  readonly call: string;
  /** How many requests for the same step came before. */
  readonly earlier: number;
  /** How many requests came before at all. */
  readonly index: number;
  /** The text of the last message. */
  readonly prompt: string;
}

/** What a vendor says to a request; undefined refuses it because its quota is used up, and bills nothing. */
export type Saying = (request: BilledRequest) => string | undefined;

/** A model server that bills a cent for each answer, and counts the answers to each step of each cell. */
export interface BillingVendor extends AsyncDisposable {
  readonly url: string;
  /** The answers by step, `run/config/id/step`. */
  readonly billed: ReadonlyMap<string, number>;
  /** Answers and refusals. */
  readonly requestCount: number;
  /** Says something else from now on. */
  become(saying: Saying): void;
}

/** Starts a model server on a free port of this machine. */
export async function startBillingVendor(saying: Saying): Promise<BillingVendor> {
  let says = saying;
  const billed = new Map<string, number>();
  let requestCount = 0;
  const answer = (response: ServerResponse, content: string, model: string) =>
    sendJson(
      response,
      aCompletion(
        { content },
        {
          model,
          usage: { prompt_tokens: TOKENS, completion_tokens: 1, total_tokens: TOKENS + 1 },
        },
      ),
    );
  const server = await startHttpServer((response, { headers, body }) => {
    const call = decodeURIComponent(String(headers['x-thrice-cell']));
    const earlier = billed.get(call) ?? 0;
    const index = requestCount;
    requestCount += 1;
    const content = says({ call, earlier, index, prompt: promptOf(body) });
    if (content === undefined) {
      const message = 'You exceeded your current quota, please check your plan.';
      const error = { message, type: 'insufficient_quota', code: 'insufficient_quota' };
      sendJson(response, { error }, { status: 429 });
      return;
    }
    billed.set(call, earlier + 1);
    answer(response, content, String(body['model']));
  });
  return {
    url: server.url,
    billed,
    get requestCount() {
      return requestCount;
    },
    become: (next) => {
      says = next;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function promptOf(body: Readonly<Record<string, unknown>>): string {
  const messages = body['messages'] as readonly { readonly content: unknown }[];
  return String(messages.at(-1)?.content);
}

/** What a vendor has billed, USD. */
export function billedUsd({ billed }: BillingVendor): number {
  return [...billed.values()].reduce((sum, count) => sum + count, 0) * USD_PER_CALL;
}

/** The steps that a vendor was paid for more often than once. */
export function paidTwice({ billed }: BillingVendor): readonly string[] {
  return [...billed].flatMap(([call, count]) => (count === 1 ? [] : [`${call}: ${count}`]));
}
