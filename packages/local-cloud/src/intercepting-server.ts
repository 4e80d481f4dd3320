import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type AwsResponse, type AwsService, type Intercept, lost } from './intercept.ts';
import { changeInput, type HttpRequest, parseAwsRequest } from './parse-aws-request.ts';

/** Headers of a connection: those of the client's and of the emulator's have nothing to do with each other. */
const CONNECTION_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect']);

interface InterceptorInit {
  readonly service: AwsService;
  /** Where the emulator listens on loopback. */
  readonly port: number;
  readonly intercept: Intercept;
  readonly onError: (error: unknown) => void;
}

/**
 * A server in front of an emulator that shows every request to an interceptor.
 *
 * A request that was handed on is done, also when its client has gone meanwhile: so a process may be
 * killed in between, with one outcome.
 */
export function createInterceptingServer(init: InterceptorInit): Server {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    answer(request, response, agent, init).catch((error: unknown) => {
      request.socket.destroy();
      if (server.listening) init.onError(error);
    });
  });
  return server.on('close', () => agent.destroy());
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  agent: Agent,
  { service, port, intercept }: InterceptorInit,
): Promise<void> {
  const received = await receive(request);
  // Its client went while it sent it: nothing was asked.
  if (received === undefined) return;
  const outcome = await intercept(parseAwsRequest(service, received), (changed) => {
    const toSend = changed === undefined ? received : changeInput(service, received, changed.input);
    return handOn(toSend, port, agent);
  });
  if (outcome === lost) request.socket.destroy();
  else write(response, received.method, outcome);
}

async function receive(request: IncomingMessage): Promise<HttpRequest | undefined> {
  const { method = '', url: path = '', headers } = request;
  const body = await buffer(request).catch(() => undefined);
  return body && { method, path, headers: flatten(headers), body };
}

/** Asks the emulator. */
async function handOn(request: HttpRequest, port: number, agent: Agent): Promise<AwsResponse> {
  const { method, path, headers, body } = request;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sendRequest({
    host: '127.0.0.1',
    port,
    agent,
    method,
    path,
    headers: { ...headers, 'content-length': body.length },
  })
    .on('response', resolve)
    .on('error', reject)
    .end(body);
  const answered = await promise;
  return {
    statusCode: answered.statusCode ?? 0,
    headers: flatten(answered.headers),
    body: await buffer(answered),
  };
}

function write(
  response: ServerResponse,
  method: string,
  { statusCode, headers, body }: AwsResponse,
): void {
  // What has no body may have a length all the same: that of what was asked about.
  const hasBody = method !== 'HEAD' && statusCode !== 204 && statusCode !== 304;
  response.writeHead(statusCode, {
    ...headers,
    ...(hasBody && { 'content-length': body.length }),
  });
  response.end(hasBody ? body : undefined);
}

function flatten(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).flatMap(([name, value = '']) =>
    CONNECTION_HEADERS.has(name) ? [] : [[name, String(value)] as const],
  );
  return Object.fromEntries(entries);
}
