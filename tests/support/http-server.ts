import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listen } from './listen.ts';

/** A received request. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server whose responses a test writes itself, for responses that the simulator never sends. */
export interface HttpServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** The client's end of the connection of each request. */
  readonly remotePorts: readonly number[];
}

/** Starts a server on a free port of this machine. */
export async function startHttpServer(
  answer: (response: ServerResponse, request: ReceivedRequest) => void,
): Promise<HttpServer> {
  const requests: ReceivedRequest[] = [];
  const remotePorts: number[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const body = (text === '' ? {} : JSON.parse(text)) as ReceivedRequest['body'];
      const received = { path: request.url ?? '', headers: request.headers, body };
      requests.push(received);
      remotePorts.push(request.socket.remotePort ?? 0);
      answer(response, received);
    });
  });
  const listening = await listen(server, '0.0.0.0');
  return {
    ...listening,
    url: `http://127.0.0.1:${listening.port}/v1`,
    requests,
    remotePorts,
  };
}

/** Sends a JSON body. */
export function sendJson(
  response: ServerResponse,
  body: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Starts an event stream if needed and sends the events; the caller ends the stream. */
export function sendEvents(response: ServerResponse, events: readonly unknown[]): void {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) {
    response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
}

/** A chat completion with one choice. */
export function aCompletion(
  message: Readonly<Record<string, unknown>> = { content: '42' },
  rest: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' };
  return { id: 'c1', object: 'chat.completion', model: 'm', choices: [choice], ...rest };
}

/** A chunk of a streamed completion. */
export function aChunk(
  delta: Readonly<Record<string, unknown>>,
  finishReason: string | null = null,
): Readonly<Record<string, unknown>> {
  const choice = { index: 0, delta, finish_reason: finishReason };
  return { id: 'c1', object: 'chat.completion.chunk', model: 'm', choices: [choice] };
}
