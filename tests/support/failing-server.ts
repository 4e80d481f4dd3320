import { createServer as createModelServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { aCompletion, sendJson } from './http-server.ts';

/** How a server that is out treats a connection: there is nothing to connect to, or it ends at once. */
export type OutageKind = 'refuses' | 'resets';

/** A model server that a test takes out and back. */
export interface FailingServer extends AsyncDisposable {
  readonly url: string;
  /** Answers so far. */
  readonly answerCount: number;
  /** Connections that ended without an answer because the server was out. */
  readonly resetCount: number;
  takeOut(kind: OutageKind): Promise<void>;
  takeBack(): Promise<void>;
}

/**
 * Starts a model server on a free port of this machine, which answers `42` unless told otherwise.
 *
 * @param own.outAfter - Takes the server out, refusing connections, after so many answers.
 * @param own.answer - Writes the answer to the request with this number, from 1.
 */
export async function startFailingServer(
  own: {
    readonly outAfter?: number;
    readonly outageKind?: OutageKind;
    readonly answer?: (response: ServerResponse, requestNo: number) => void;
  } = {},
): Promise<FailingServer> {
  const { answer = (response) => sendJson(response, aCompletion()) } = own;
  const sockets = new Set<Socket>();
  let outage: OutageKind | undefined;
  let requestCount = 0;
  let answerCount = 0;
  let resetCount = 0;
  const models = createModelServer((request, response) => {
    request.resume().on('end', () => {
      requestCount += 1;
      answer(response, requestCount);
      answerCount += 1;
      if (answerCount === own.outAfter) void takeOut(own.outageKind ?? 'refuses');
    });
  });
  const front = createServer((socket) => {
    if (outage !== undefined) {
      resetCount += 1;
      socket.resetAndDestroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    models.emit('connection', socket);
  });
  await listen(front, 0);
  const { port } = front.address() as AddressInfo;
  const takeOut = async (kind: OutageKind) => {
    outage = kind;
    const closed = kind === 'refuses' ? close(front) : undefined;
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get answerCount() {
      return answerCount;
    },
    get resetCount() {
      return resetCount;
    },
    takeOut,
    takeBack: async () => {
      // On the port that it had: a client knows no other.
      if (!front.listening) await listen(front, port);
      outage = undefined;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      if (front.listening) await close(front);
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1' }, resolve);
  });
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}
