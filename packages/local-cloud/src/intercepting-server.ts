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
import { type AwsResponse, type AwsService, connectionLost, type Intercept } from './intercept.ts';
import { changeInput, type InterceptedRequest, parseAwsRequest } from './parse-aws-request.ts';

/** Hop-by-hop headers: they belong to one connection and are not forwarded. */
const CONNECTION_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'expect']);

interface InterceptorInit {
  readonly service: AwsService;
  /** The emulator's port on loopback. */
  readonly port: number;
  readonly intercept: Intercept;
  readonly onError: (error: unknown) => void;
}

/**
 * Creates a proxy in front of an emulator that passes every request to an interceptor.
 *
 * A forwarded request is executed even if its client has disconnected in the meantime, so that killing
 * a process during a request has only one outcome.
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
  // The client disconnected before it had sent the whole request.
  if (received === undefined) return;
  const outcome = await intercept(parseAwsRequest(service, received), (changed) => {
    const toSend = changed === undefined ? received : changeInput(service, received, changed.input);
    return forward(toSend, port, agent);
  });
  if (outcome === connectionLost) request.socket.destroy();
  else write(response, received.method, outcome);
}

async function receive(request: IncomingMessage): Promise<InterceptedRequest | undefined> {
  const { method = '', url: path = '', headers } = request;
  const body = await buffer(request).catch(() => undefined);
  return body && { method, path, headers: flatten(headers), body };
}

/** Forwards a request to the emulator. */
async function forward(
  request: InterceptedRequest,
  port: number,
  agent: Agent,
): Promise<AwsResponse> {
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
  // A response without a body may still have a content-length: that of the resource.
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
