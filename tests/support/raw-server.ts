import { createServer, type Socket } from 'node:net';
import { settledBy } from './settled-by.ts';

/** A TCP server whose bytes a test writes itself, for what no HTTP server sends. */
export interface RawServer extends AsyncDisposable {
  /** `http://<host>:<port>/v1` */
  readonly url: string;
  readonly port: number;
  readonly connectionCount: number;
  /** What arrived, per connection. */
  readonly received: readonly string[];
}

/**
 * Starts a server on a free port of this machine.
 *
 * @param answer - Called for each piece that a connection sends.
 * @param host - The address to listen on. @default 127.0.0.1
 */
export async function startRawServer(
  answer: (socket: Socket, piece: Buffer) => void,
  host = '127.0.0.1',
): Promise<RawServer> {
  const sockets: Socket[] = [];
  const received: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const index = sockets.push(socket) - 1;
    received.push('');
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('data', (piece: Buffer) => {
      received[index] += piece.toString('latin1');
      answer(socket, piece);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen({ port: 0, host }, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://${host}:${port}/v1`,
    port,
    get connectionCount() {
      return sockets.length;
    },
    received,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      await settledBy(Promise.resolve());
    },
  };
}

/**
 * Writes pieces for as long as the connection takes them, and counts the bytes. What the connection does not take
 * yet is not made, so that the server itself needs no memory.
 *
 * @param pieceAt - The piece at a position.
 * @param count - Of the pieces. @default without end
 */
export function writeLazily(
  socket: Socket,
  pieceAt: (index: number) => Buffer,
  count = Number.POSITIVE_INFINITY,
): { readonly sentBytes: number } {
  let index = 0;
  const write = () => {
    while (index < count && !socket.destroyed) {
      const isTaken = socket.write(pieceAt(index));
      index += 1;
      if (!isTaken) {
        socket.once('drain', write);
        return;
      }
    }
    socket.end();
  };
  write();
  return {
    get sentBytes() {
      return socket.bytesWritten;
    },
  };
}
