import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { readBody } from '../answer-request.ts';
import { type ApiError, errorObject, isApiError } from '../api-error.ts';
import { anthropicProtocol } from '../protocols/anthropic-protocol.ts';
import { chatProtocol } from '../protocols/chat-protocol.ts';
import { responsesProtocol } from '../protocols/responses-protocol.ts';
import { writeError, writeJson, writeLines } from '../write-response.ts';
import type { BatchServices } from './answer-row.ts';
import type { BatchReply } from './batch-reply.ts';
import { FileBatches } from './file-batches.ts';
import type { Batching } from './load-batching.ts';
import { MessageBatches } from './message-batches.ts';

/** A request about files or batches. */
interface BatchCall {
  readonly id: string;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  readonly body: string;
}

interface Route {
  readonly pattern: RegExp;
  readonly describeError: (error: ApiError) => object;
  readonly answer: (call: BatchCall) => BatchReply | ApiError;
}

/** The batch interfaces of both vendors. */
export interface BatchApi {
  /**
   * Answers a request about files or batches.
   *
   * @param name - Method and path.
   * @returns False if it is about something else.
   */
  handle(name: string, request: IncomingMessage, response: ServerResponse): boolean;
  /** Works on what is due in all batches. */
  settle(): void;
}

/** Creates the batch interfaces. */
export function createBatchApi(init: {
  readonly services: BatchServices;
  readonly seed: number;
  readonly batching: Batching;
}): BatchApi {
  const fileProtocols = new Map(
    [chatProtocol, responsesProtocol].map((protocol) => [protocol.path, protocol]),
  );
  const files = new FileBatches({ ...init, protocols: fileProtocols });
  const messages = new MessageBatches({ ...init, protocol: anthropicProtocol });
  const routes = [...fileRoutes(files), ...messageRoutes(messages)];
  return {
    handle: (name, request, response) => {
      const route = routes.find(({ pattern }) => pattern.test(name));
      if (route === undefined) return false;
      const { headers, url = '/' } = request;
      const id = route.pattern.exec(name)?.[1] ?? '';
      const query = new URLSearchParams(url.split('?')[1]);
      readBody(request, (body) => {
        const reply = route.answer({ id, headers, query, body });
        if (isApiError(reply)) writeError(response, reply, route.describeError);
        else if ('lines' in reply) writeLines(response, reply.lines);
        else writeJson(response, 200, JSON.stringify(reply.document));
      });
      return true;
    },
    settle: () => {
      files.settle();
      messages.settle();
    },
  };
}

function fileRoutes(files: FileBatches): readonly Route[] {
  const route = (pattern: RegExp, answer: Route['answer']): Route => ({
    pattern,
    answer,
    describeError: errorObject,
  });
  return [
    route(/^POST \/v1\/files$/, ({ headers, body }) => files.upload(headers, body)),
    route(/^GET \/v1\/files\/([^/]+)$/, ({ id }) => files.file(id)),
    route(/^GET \/v1\/files\/([^/]+)\/content$/, ({ id }) => files.content(id)),
    route(/^POST \/v1\/batches$/, ({ headers, body }) => files.create(headers, body)),
    route(/^GET \/v1\/batches$/, ({ query }) => files.list(query)),
    route(/^GET \/v1\/batches\/([^/]+)$/, ({ id }) => files.retrieve(id)),
    route(/^POST \/v1\/batches\/([^/]+)\/cancel$/, ({ id }) => files.cancel(id)),
  ];
}

function messageRoutes(messages: MessageBatches): readonly Route[] {
  const route = (pattern: RegExp, answer: Route['answer']): Route => ({
    pattern,
    answer,
    describeError: anthropicProtocol.describeError,
  });
  const batches = String.raw`\/v1\/messages\/batches`;
  const on = (method: string, rest = '') => new RegExp(`^${method} ${batches}${rest}$`);
  const originOf = ({ headers }: BatchCall) => `http://${headers.host ?? 'localhost'}`;
  return [
    route(on('POST'), ({ headers, body }) => messages.create(headers, body)),
    route(on('GET'), (call) => messages.list(call.query, originOf(call))),
    route(on('GET', '/([^/]+)'), (call) => messages.retrieve(call.id, originOf(call))),
    route(on('POST', '/([^/]+)/cancel'), (call) => messages.cancel(call.id, originOf(call))),
    route(on('GET', '/([^/]+)/results'), ({ id }) => messages.results(id)),
  ];
}
