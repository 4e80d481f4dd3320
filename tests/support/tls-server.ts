import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../fixtures/tls');

/** The certificate of the authority of {@link startTlsServer}, which no machine trusts by itself. */
export const authorityFile: string = join(folder, 'authority.pem');

/** An HTTPS server that lists one model. */
export interface TlsServer extends AsyncDisposable {
  /** `https://127.0.0.1:<port>/v1` */
  readonly url: string;
  readonly port: number;
  readonly requestCount: number;
}

/**
 * Starts a server on a free port of this machine, whose certificate is for `models.test` and this machine.
 *
 * @param delayMs - How long it takes to answer.
 */
export async function startTlsServer(delayMs = 0): Promise<TlsServer> {
  const options = {
    cert: readFileSync(join(folder, 'server.pem')),
    key: readFileSync(join(folder, 'server-key.pem')),
  };
  let requestCount = 0;
  const server = createServer(options, (_, response) => {
    requestCount += 1;
    setTimeout(() => response.end('{"data": [{"id": "small"}]}'), delayMs);
  });
  await new Promise<void>((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1' }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/v1`,
    port,
    get requestCount() {
      return requestCount;
    },
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
