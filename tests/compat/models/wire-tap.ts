import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Bytes that crossed the wire, and when they did. */
export interface Piece {
  readonly at: number;
  readonly bytes: Buffer;
}

/** Everything that crossed one connection. */
export interface TappedConnection {
  readonly fromClient: readonly Piece[];
  readonly fromServer: readonly Piece[];
  /** Who ended it first; undefined while it is open. */
  readonly endedBy: 'client' | 'server' | undefined;
}

/** A relay between a client and a server that records what both send. */
export interface WireTap extends AsyncDisposable {
  /** The port that clients connect to. */
  readonly port: number;
  readonly connections: readonly TappedConnection[];
}

interface OpenConnection {
  readonly fromClient: Piece[];
  readonly fromServer: Piece[];
  endedBy: 'client' | 'server' | undefined;
}

/** Relays loopback connections to a port, byte by byte: what arrives is what the server sent, breaks included. */
export async function startWireTap(serverPort: number): Promise<WireTap> {
  const connections: OpenConnection[] = [];
  const sockets = new Set<Socket>();
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const server = connect({ port: serverPort, host: '127.0.0.1', allowHalfOpen: true });
    server.setNoDelay();
    const connection: OpenConnection = { fromClient: [], fromServer: [], endedBy: undefined };
    connections.push(connection);
    relay(client, server, connection.fromClient, () => {
      connection.endedBy ??= 'client';
    });
    relay(server, client, connection.fromServer, () => {
      connection.endedBy ??= 'server';
    });
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    connections,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}

/** Passes on what one side sends, and that it ended or broke off. */
function relay(from: Socket, to: Socket, pieces: Piece[], end: () => void): void {
  from.on('data', (bytes: Buffer) => {
    pieces.push({ at: performance.now(), bytes });
    to.write(bytes);
  });
  from.on('end', () => {
    end();
    to.end();
  });
  from.on('error', () => {
    end();
    to.resetAndDestroy();
  });
  from.on('close', () => {
    end();
    if (!to.writableEnded) to.destroy();
  });
}
