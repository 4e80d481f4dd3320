import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ThriceError } from '@thrice/core';
import { openDecoder } from './content-encoding.ts';
import type { HttpHeaders, HttpResponse, StopSource } from './http-transport.ts';
import { bodyTooLong, mapTransportError } from './map-transport-error.ts';

/**
 * How long the rest of a body may take whose reader needs no more, ms. It is the end of a stream, nearly always,
 * and then its connection can be used again.
 */
const REST_MS = 1_000;

/**
 * One request and its response.
 *
 * States: connecting; waiting for the head; head received; body being read; over. A failure before the head rejects
 * it, a later one ends the body.
 */
export class HttpExchange implements HttpResponse {
  readonly #request: ClientRequest;
  readonly #head = Promise.withResolvers<HttpResponse>();
  readonly #end = Promise.withResolvers<ThriceError | undefined>();
  #connecting: NodeJS.Timeout | undefined;
  #response: IncomingMessage | undefined;
  #decoder: Duplex | undefined;
  #onPiece: (piece: Buffer) => boolean = () => true;
  #maxBytes = 0;
  #receivedBytes = 0;
  #decodedBytes = 0;
  #failure: ThriceError | undefined;
  /** All of the body has arrived, though some of it may not be decoded yet. */
  #isReceived = false;
  #isOver = false;

  constructor(request: ClientRequest, stop: StopSource, connectTimeoutMs: number) {
    this.#request = request;
    request.on('error', this.#breakOff);
    request.on('response', this.#receive);
    request.on('close', this.#closed);
    if (!request.reusedSocket) this.#limitConnecting(connectTimeoutMs);
    stop.onStop(() => {
      // An error costs more than all else that this class does for a request.
      if (!this.#isOver) this.#breakOff(new Error('the request was stopped'));
    });
  }

  /** Resolves when the head has arrived. */
  get head(): Promise<HttpResponse> {
    return this.#head.promise;
  }

  get status(): number {
    return this.#response?.statusCode ?? 0;
  }

  get headers(): HttpHeaders {
    return this.#response?.headers ?? {};
  }

  async readBody(
    maxBytes: number,
    onPiece: (piece: Buffer) => boolean,
  ): Promise<ThriceError | undefined> {
    this.#maxBytes = maxBytes;
    this.#onPiece = onPiece;
    if (this.#failure !== undefined) this.#settle(this.#failure);
    this.#response?.on('data', this.#decode);
    return await this.#end.promise;
  }

  #limitConnecting(connectTimeoutMs: number): void {
    this.#connecting = setTimeout(() => {
      this.#breakOff(new Error(`no connection within ${connectTimeoutMs / 1000} s`));
    }, connectTimeoutMs);
    const connected = () => clearTimeout(this.#connecting);
    this.#request.on('socket', (socket: Socket) => {
      // A socket that comes through a tunnel has shaken hands already.
      if ('secureConnecting' in socket && socket.secureConnecting === true) {
        socket.once('secureConnect', connected);
      } else if (socket.connecting) {
        socket.once('connect', connected);
      } else {
        connected();
      }
    });
  }

  readonly #receive = (response: IncomingMessage) => {
    clearTimeout(this.#connecting);
    this.#response = response;
    response.on('error', this.#breakOff);
    response.on('end', this.#endInput);
    this.#head.resolve(this);
  };

  readonly #decode = (piece: Buffer) => {
    if (this.#isOver) return;
    if (this.#receivedBytes === 0) this.#openDecoder(piece);
    this.#receivedBytes += piece.length;
    if (this.#isOver) return;
    if (this.#receivedBytes > this.#maxBytes) this.#close(bodyTooLong(this.#maxBytes));
    else if (this.#decoder === undefined) this.#deliver(piece);
    else if (!this.#decoder.write(piece)) this.#response?.pause();
  };

  #openDecoder(first: Buffer): void {
    try {
      this.#decoder = openDecoder(this.headers['content-encoding'], first);
    } catch (error) {
      this.#close(mapTransportError(error));
    }
    this.#decoder?.on('data', this.#deliver);
    this.#decoder?.on('drain', () => this.#response?.resume());
    this.#decoder?.on('error', (error) => this.#close(mapTransportError(error)));
    this.#decoder?.on('end', () => this.#settle(this.#failure));
  }

  readonly #deliver = (piece: Buffer) => {
    if (this.#isOver) return;
    this.#decodedBytes += piece.length;
    try {
      if (this.#decodedBytes > this.#maxBytes) throw bodyTooLong(this.#maxBytes);
      if (this.#onPiece(piece)) this.#leaveRest();
    } catch (error) {
      this.#close(mapTransportError(error));
    }
  };

  #leaveRest(): void {
    this.#settle(undefined);
    const closing = setTimeout(() => this.#request.destroy(), REST_MS).unref();
    this.#response?.once('close', () => clearTimeout(closing));
  }

  /** Without an error before it, as after an offer of another protocol. */
  readonly #closed = () => {
    if (!this.#isReceived && !this.#isOver) this.#breakOff(new Error('the connection closed'));
  };

  readonly #endInput = () => {
    this.#isReceived = true;
    if (this.#decoder === undefined) this.#settle(undefined);
    else this.#decoder.end();
  };

  /** What has arrived of an encoded body is decoded before the failure is reported. */
  readonly #breakOff = (error: Error) => {
    if (this.#isReceived || this.#isOver || this.#failure !== undefined) return;
    const failure = mapTransportError(error);
    this.#failure = failure;
    clearTimeout(this.#connecting);
    this.#head.reject(failure);
    this.#request.destroy();
    if (this.#decoder === undefined) this.#settle(failure);
    else this.#decoder.end();
  };

  #close(failure: ThriceError): void {
    this.#settle(failure);
    this.#decoder?.destroy();
    this.#request.destroy();
  }

  #settle(failure: ThriceError | undefined): void {
    this.#isOver = true;
    this.#end.resolve(failure);
  }
}
