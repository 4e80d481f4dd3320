import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Looks at the requests in work before giving up on them; the emulators answer most at once. */
const LOOK_COUNT = 200;
const LOOK_MS = 5;

/** Listens on a free port of this machine; cuts every connection when disposed of. */
export async function listenOnLoopback(
  server: Server,
): Promise<AsyncDisposable & { readonly port: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // A connection that a server closes just when a request comes in is a fault that no test asked for.
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
 * Lets a server close after it has done what it was asked for.
 *
 * dynalite goes on with a request whose connection is gone, as it should, but fails the whole process
 * when its store is closed by then.
 *
 * @returns The same server.
 */
export function endsRequestsFirst(server: Server): Server {
  const inWork = new Map<ServerResponse, IncomingMessage>();
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    inWork.set(response, request);
    response.once('finish', () => inWork.delete(response));
  });
  // A request that was cut off itself will never be answered.
  const isInWork = ([response, request]: [ServerResponse, IncomingMessage]) =>
    request.complete && !response.writableEnded;
  const closeAtOnce = server.close.bind(server);
  server.close = (callback) => {
    void (async () => {
      for (let look = 0; look < LOOK_COUNT && [...inWork].some(isInWork); look += 1) {
        await pause(LOOK_MS);
      }
      closeAtOnce(callback);
      server.closeAllConnections();
    })();
    return server;
  };
  return server;
}
