import { aCompletion, type HttpServer, sendJson, startHttpServer } from './http-server.ts';

/** A key that no server knows, with characters that URLs encode. */
export const canaryKey = 'sk-canary-0123456789abcdefghijklmnopqrstuvwxyz+/-q8r7s6t5u4v3';
/** The secret of a webhook. */
export const hookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
/** The path of a webhook's URL, which is a secret, too. */
export const hookPath = '/services/T00000000/B00000000/hookcanary0123456789';

/** What no echo may leave behind: either end of the key, plain, for URLs and in base64. */
const traces: readonly string[] = [
  canaryKey.slice(0, 12),
  canaryKey.slice(-9),
  encodeURIComponent(canaryKey.slice(-14)),
  base64(`Bearer ${canaryKey}`).slice(12, 32),
  base64(`Bearer ${canaryKey}`).slice(-24, -4),
  hookSecret,
  hookPath,
];

/** A key as servers may repeat it: whole, from its beginning, as a URL has it, and in base64 after other bytes. */
const echoed = [
  canaryKey,
  canaryKey.slice(0, 20),
  encodeURIComponent(canaryKey),
  base64(`Bearer ${canaryKey}`),
].join(' ');

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Returns the names of the texts in which a part of a secret is found. */
export function findLeaks(texts: Iterable<readonly [string, string]>): readonly string[] {
  return [...texts]
    .filter(([, text]) => traces.some((trace) => text.includes(trace)))
    .map(([name]) => name);
}

/** The refusals by model, and for model `a` by question; what is missing is answered. */
const refusals: Readonly<Record<string, number>> = {
  ...{ denied: 401, unpaid: 402, unknown: 404 },
  ...{ 'a What is 1': 400, 'a What is 2': 500, 'a What is 3': 429 },
};

/** Starts a server that repeats the key in all it sends: answers, headers and errors of every class. */
export async function startEchoingServer(): Promise<HttpServer> {
  const busy = new Set<string>();
  const headers = {
    'x-request-id': echoed,
    'retry-after-ms': '1',
    'x-ratelimit-limit-requests': echoed,
    'x-your-key': echoed,
  };
  const error = { message: `wrong input for ${echoed}...`, code: echoed, type: echoed };
  return await startHttpServer((response, { body }) => {
    const model = String(body['model']);
    const [question = ''] = /What is \d/.exec(JSON.stringify(body)) ?? [];
    const status = refusals[model] ?? refusals[`${model} ${question}`];
    const isOver = status === 429 && busy.has(question);
    if (status === 429) busy.add(question);
    if (status !== undefined && !isOver) {
      sendJson(response, { error }, { status, headers });
      return;
    }
    const served = model === 'other' ? 'cheaper' : model;
    const rest = { model: served, [echoed]: echoed, system_fingerprint: echoed };
    const answer = aCompletion({ content: `42 ${echoed}` }, rest);
    sendJson(response, model === 's' ? `no stream ${echoed}` : answer, { headers });
  });
}
