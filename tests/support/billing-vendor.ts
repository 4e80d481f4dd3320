import { aCompletion, sendJson, startHttpServer } from './http-server.ts';

/** USD per million tokens: a cent for each call of {@link TOKENS}. */
const price = { input: 1_000, output: 0 } as const;
/** The input tokens of each call. */
const TOKENS = 10;
/** What a vendor bills for each answer, USD. */
export const USD_PER_CALL = 0.01;

/** The lines of a spec that price a model as a {@link BillingVendor} bills it. */
export function billedPrice(model: string): string {
  return `[prices."${model}"]\ninput = ${price.input}\noutput = ${price.output}\n`;
}

/**
 * What a vendor says to a request; undefined refuses it because its quota is used up, and bills nothing.
 *
 * @param call - The step that asks, as the client names it: `run/config/id/step`.
 * @param messages - What it asks, as JSON.
 */
export type Saying = (call: string, messages: string) => string | undefined;

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
  const server = await startHttpServer((response, { headers, body }) => {
    // A list of models, which costs nothing.
    if (body['messages'] === undefined) return sendJson(response, {}, { status: 404 });
    const call = decodeURIComponent(String(headers['x-thrice-cell']));
    requestCount += 1;
    const content = says(call, JSON.stringify(body['messages']));
    if (content === undefined) {
      const message = 'You exceeded your current quota, please check your plan.';
      const error = { message, type: 'insufficient_quota', code: 'insufficient_quota' };
      return sendJson(response, { error }, { status: 429 });
    }
    billed.set(call, (billed.get(call) ?? 0) + 1);
    const usage = { prompt_tokens: TOKENS, completion_tokens: 1, total_tokens: TOKENS + 1 };
    sendJson(response, aCompletion({ content }, { model: body['model'], usage }));
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

/** What a vendor has billed, USD. */
export function billedUsd({ billed }: BillingVendor): number {
  return [...billed.values()].reduce((sum, count) => sum + count, 0) * USD_PER_CALL;
}

/** The steps that a vendor was paid for more often than once. */
export function paidTwice({ billed }: BillingVendor): readonly string[] {
  return [...billed].flatMap(([call, count]) => (count === 1 ? [] : [call]));
}
