import type { Duplex } from 'node:stream';
import type { ThriceError } from '@thrice/core';
import type { Dispatcher } from 'undici';
import { openDecoder } from './content-encoding.ts';
import type { HttpHeaders, HttpResponse, StopSource } from './http-transport.ts';
import { bodyTooLong, mapTransportError } from './map-transport-error.ts';

/**
 * How long the rest of a body may take whose reader needs no more, ms. It is the end of a stream, nearly always,
 * and then its connection can be used again.
 */
const REST_MS = 1_000;
/**
 * What undici reports of a body that is cut off on a connection that was to close after it; on others, it reports a
 * closed socket.
 * https://github.com/nodejs/undici/blob/v8.12.4/lib/dispatcher/client-h1.js
 */
const CUT_OFF = /^Response body length does not match|Invalid EOF state/;

/**
 * One request and its response, as undici reports their progress.
 *
 * States: waiting for a connection; sent; head received; body being read; over. A failure before the head rejects
 * it, a later one ends the body.
 */
export class HttpExchange implements Dispatcher.DispatchHandler, HttpResponse {
  status = 0;
  headers: HttpHeaders = {};
  readonly #head = Promise.withResolvers<HttpResponse>();
  readonly #end = Promise.withResolvers<ThriceError | undefined>();
  #controller: Dispatcher.DispatchController | undefined;
  #decoder: Duplex | undefined;
  #onPiece: ((piece: Buffer) => boolean) | undefined;
  /** What came in the same packet as the head, before anybody could read it. */
  readonly #early: Buffer[] = [];
  #maxBytes = 0;
  #receivedBytes = 0;
  #decodedBytes = 0;
  #failure: ThriceError | undefined;
  /** All of the body has arrived, though some of it may not be decoded yet. */
  #isReceived = false;
  #isOver = false;
  #isPaused = false;
  #closing: NodeJS.Timeout | undefined;

  constructor(stop: StopSource) {
    stop.onStop(() => {
      // An error costs more than all else that this class does for a request.
      if (!this.#isReceived && !this.#isOver) this.#breakOff(new Error('the request was stopped'));
    });
  }

  /** Resolves when the head has arrived. */
  get head(): Promise<HttpResponse> {
    return this.#head.promise;
  }

  async readBody(
    maxBytes: number,
    onPiece: (piece: Buffer) => boolean,
  ): Promise<ThriceError | undefined> {
    this.#maxBytes = maxBytes;
    this.#onPiece = onPiece;
    for (const piece of this.#early.splice(0)) this.#decode(piece);
    if (this.#isReceived || this.#failure !== undefined) this.#endInput();
    return await this.#end.promise;
  }

  pause(): void {
    this.#isPaused = true;
    if (!this.#isReceived) this.#controller?.pause();
    this.#decoder?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#decoder?.resume();
    if (!this.#isReceived && !this.#isOver) this.#controller?.resume();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(this.#failure);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpHeaders,
  ): void {
    // The head of an informational response; the real one follows.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    this.#head.resolve(this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#onPiece === undefined) this.#early.push(piece);
    else this.#decode(piece);
  }

  onResponseEnd(): void {
    this.#isReceived = true;
    clearTimeout(this.#closing);
    if (this.#onPiece !== undefined) this.#endInput();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    clearTimeout(this.#closing);
    const isCutOff = this.status > 0 && CUT_OFF.test(error.message);
    this.#breakOff(isCutOff ? new Error('the connection closed') : error);
  }

  #decode(piece: Buffer): void {
    if (this.#isOver) return;
    if (this.#receivedBytes === 0) this.#openDecoder(piece);
    this.#receivedBytes += piece.length;
    if (this.#isOver) return;
    if (this.#receivedBytes > this.#maxBytes) this.#close(bodyTooLong(this.#maxBytes));
    else if (this.#decoder === undefined) this.#deliver(piece);
    else if (!this.#decoder.write(piece)) this.#controller?.pause();
  }

  #openDecoder(first: Buffer): void {
    try {
      this.#decoder = openDecoder(this.headers['content-encoding'], first);
    } catch (error) {
      this.#close(mapTransportError(error));
    }
    this.#decoder?.on('data', (piece: Buffer) => this.#deliver(piece));
    this.#decoder?.on('drain', () => {
      if (!this.#isPaused) this.#controller?.resume();
    });
    this.#decoder?.on('error', (error) => this.#close(mapTransportError(error)));
    this.#decoder?.on('end', () => this.#settle(this.#failure));
  }

  #deliver(piece: Buffer): void {
    if (this.#isOver) return;
    this.#decodedBytes += piece.length;
    try {
      if (this.#decodedBytes > this.#maxBytes) throw bodyTooLong(this.#maxBytes);
      if (this.#onPiece?.(piece) === true) this.#leaveRest();
    } catch (error) {
      this.#close(mapTransportError(error));
    }
  }

  #leaveRest(): void {
    this.#settle(undefined);
    if (this.#isReceived) return;
    this.#closing = setTimeout(() => {
      this.#controller?.abort(new Error('the rest of the body is not needed'));
    }, REST_MS).unref();
  }

  /** What has arrived of an encoded body is decoded before a failure is reported. */
  #breakOff(error: Error): void {
    if (this.#isReceived || this.#isOver || this.#failure !== undefined) return;
    this.#failure = mapTransportError(error);
    this.#head.reject(this.#failure);
    this.#controller?.abort(this.#failure);
    if (this.#onPiece !== undefined) this.#endInput();
  }

  #endInput(): void {
    if (this.#decoder === undefined) this.#settle(this.#failure);
    else this.#decoder.end();
  }

  #close(failure: ThriceError): void {
    this.#settle(failure);
    this.#decoder?.destroy();
    this.#controller?.abort(failure);
  }

  #settle(failure: ThriceError | undefined): void {
    this.#isOver = true;
    this.#end.resolve(failure);
  }
}
