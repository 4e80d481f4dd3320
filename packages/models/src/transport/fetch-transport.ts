import type { HttpTransport } from './http-transport.ts';

/** Creates a transport over the built-in `fetch`, for a process that sends few requests at a time. */
export function createFetchTransport(): HttpTransport {
  return {
    open: (url, endpointHeaders) => ({
      post: async ({ body, headers, stop }) => {
        const controller = new AbortController();
        stop.onStop(() => controller.abort());
        const response = await fetch(url, {
          method: 'POST',
          headers: { ...endpointHeaders, ...headers },
          body,
          redirect: 'manual',
          signal: controller.signal,
        });
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          body: response.body ?? emptyBody(),
        };
      },
    }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function* emptyBody(): AsyncGenerator<Uint8Array, void> {}
