import { performance } from 'node:perf_hooks';
import { aCompletion, type HttpServer, sendJson, startHttpServer } from './http-server.ts';

/** How a vendor says when to come back. */
export type RetryHeader = 'seconds' | 'milliseconds' | 'none';

/** What a {@link startRateLimitedServer} has seen. */
export interface LimitStats {
  readonly okCount: number;
  readonly refusedCount: number;
  /** Share of the limit that was used, of what it offered since it was last reset: 0..1. */
  readonly usedRatio: number;
}

/**
 * A model server with a token bucket: `perSecond` requests a second, as many in store at most, a 429
 * beyond.
 *
 * Headers as vendors send them: `retry-after` in whole seconds, `retry-after-ms`, or neither.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 * @see https://learn.microsoft.com/azure/ai-services/openai/how-to/quota (retry-after-ms, 2026-11)
 */
export async function startRateLimitedServer(own: {
  readonly perSecond: number;
  readonly header: RetryHeader;
}): Promise<HttpServer & { readonly stats: () => LimitStats; readonly resetStats: () => void }> {
  const { perSecond, header } = own;
  let stored = perSecond;
  let filledAtMs = performance.now();
  const seen = { okCount: 0, refusedCount: 0, used: 0, lost: 0 };
  const fill = () => {
    const nowMs = performance.now();
    const whole = stored + ((nowMs - filledAtMs) * perSecond) / 1_000;
    filledAtMs = nowMs;
    stored = Math.min(perSecond, whole);
    seen.lost += whole - stored;
  };
  const server = await startHttpServer((response) => {
    fill();
    if (stored >= 1) {
      stored -= 1;
      seen.okCount += 1;
      seen.used += 1;
      sendJson(response, aCompletion());
      return;
    }
    seen.refusedCount += 1;
    const waitMs = ((1 - stored) * 1_000) / perSecond;
    const headers: Record<RetryHeader, Record<string, string>> = {
      seconds: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
      milliseconds: { 'retry-after-ms': String(Math.ceil(waitMs)) },
      none: {},
    };
    const error = { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' };
    sendJson(response, { error }, { status: 429, headers: headers[header] });
  });
  return {
    ...server,
    stats: () => {
      fill();
      const { okCount, refusedCount, used, lost } = seen;
      return { okCount, refusedCount, usedRatio: used / (used + lost) };
    },
    resetStats: () => {
      fill();
      seen.used = 0;
      seen.lost = 0;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
