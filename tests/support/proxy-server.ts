import { createServer, request as requestHttp } from 'node:http';
import { connect } from 'node:net';
import { listen } from './listen.ts';

/** A proxy that reaches every host on this machine, so that a test needs no outside network. */
export interface ProxyServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  /** What was asked for: `CONNECT host:port`, or the method with the URL. */
  readonly requests: readonly string[];
  /** The `proxy-authorization` of each request. */
  readonly credentials: readonly (string | undefined)[];
}

/**
 * Starts a proxy on a free port of this machine.
 *
 * @param refusal - The status with which it refuses every request; undefined if it serves them.
 */
export async function startProxy(refusal?: number): Promise<ProxyServer> {
  const requests: string[] = [];
  const credentials: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    credentials.push(request.headers['proxy-authorization']);
    if (refusal !== undefined) {
      response.writeHead(refusal);
      response.end('refused');
      return;
    }
    const { port, pathname } = new URL(request.url ?? '');
    const { method, headers } = request;
    const forwarded = requestHttp({ port, path: pathname, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  server.on('connect', (request, socket, head) => {
    requests.push(`CONNECT ${request.url}`);
    credentials.push(request.headers['proxy-authorization']);
    socket.on('error', () => undefined);
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} Refused\r\n\r\n`);
      return;
    }
    const target = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    target.on('error', () => socket.destroy());
    socket.on('close', () => target.destroy());
  });
  const listening = await listen(server);
  return {
    ...listening,
    url: `http://127.0.0.1:${listening.port}`,
    requests,
    credentials,
  };
}
