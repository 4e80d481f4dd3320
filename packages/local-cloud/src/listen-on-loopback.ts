import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** The most checks of a closing server for unfinished requests; the emulators answer most at once. */
const MAX_CHECKS = 200;
const CHECK_MS = 5;

/** Listens on a free port of this machine; cuts all connections on disposal. */
export async function listenOnLoopback(
  server: Server,
): Promise<AsyncDisposable & { readonly port: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Closing an idle connection just as a request arrives would be a fault that no test asked for.
  server.keepAliveTimeout = 0;
  server.once('error', reject);
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}

/**
 * Makes a server finish its current requests before it closes.
 *
 * dynalite continues with a request after its connection is cut, as it should, but crashes the whole
 * process if its store is closed by then.
 *
 * @returns The same server.
 */
export function finishRequestsBeforeClose(server: Server): Server {
  const unfinished = new Map<ServerResponse, IncomingMessage>();
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    unfinished.set(response, request);
    response.once('finish', () => unfinished.delete(response));
  });
  // A request that was itself cut off is never answered.
  const isPending = ([response, request]: [ServerResponse, IncomingMessage]) =>
    request.complete && !response.writableEnded;
  const closeAtOnce = server.close.bind(server);
  server.close = (callback) => {
    void (async () => {
      for (let check = 0; check < MAX_CHECKS && [...unfinished].some(isPending); check += 1) {
        await pause(CHECK_MS);
      }
      closeAtOnce(callback);
      server.closeAllConnections();
    })();
    return server;
  };
  return server;
}
