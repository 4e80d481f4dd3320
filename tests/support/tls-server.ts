import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { listen } from './listen.ts';

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
  const listening = await listen(server);
  return {
    ...listening,
    url: `https://127.0.0.1:${listening.port}/v1`,
    get requestCount() {
      return requestCount;
    },
  };
}
