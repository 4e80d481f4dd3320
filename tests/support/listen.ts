import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A server that listens, and ends with its connections. */
export interface Listening extends AsyncDisposable {
  readonly port: number;
}

/** Has a server listen on a free port. */
export async function listen(server: Server | TlsServer, host = '127.0.0.1'): Promise<Listening> {
  await new Promise<void>((resolve) => {
    server.listen({ port: 0, host }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
