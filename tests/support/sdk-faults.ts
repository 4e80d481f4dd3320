import { Readable } from 'node:stream';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SQSClient } from '@aws-sdk/client-sqs';

/** A request as it leaves the SDK; sent again, it is another one. */
export interface SentRequest {
  /** `PutItem` */
  readonly operation: string;
  /** How many requests of this operation left before it. */
  readonly index: number;
  /** The body of a JSON protocol; empty for S3. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Length of the body. */
  readonly bodyBytes: number;
}

/** An HTTP response. */
export interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/** Answers a request in place of the service; `send` passes it on, with other input if given. */
export type AnswerRequest = (
  sent: SentRequest,
  send: (input?: SentRequest['input']) => Promise<Answer>,
) => Promise<Answer>;

interface HttpRequest {
  readonly headers: Record<string, string>;
  body?: string | Uint8Array;
}

type Handler = (args: { readonly request: HttpRequest }) => Promise<{ readonly response: unknown }>;

interface MiddlewareStack {
  add(
    middleware: (next: Handler, context: { readonly commandName?: string }) => Handler,
    options: { readonly step: 'deserialize'; readonly priority: 'low' },
  ): void;
}

/**
 * Stands between a client and its service, below the SDK's retries.
 *
 * @param answer - @default passes everything on
 * @returns Every request that left, in order; it grows.
 */
export function standBetween(
  client: DynamoDBClient | S3Client | SQSClient,
  answer: AnswerRequest = (_, send) => send(),
): readonly SentRequest[] {
  const log: SentRequest[] = [];
  const stack = client.middlewareStack as unknown as MiddlewareStack;
  stack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const { request } = args;
        const operation = commandName.replace(/Command$/, '');
        const index = log.filter((sent) => sent.operation === operation).length;
        const sent = { operation, index, input: inputOf(request), bodyBytes: bytesOf(request) };
        log.push(sent);
        const response = await answer(sent, async (input) => {
          if (input !== undefined) setInput(request, input);
          return (await next(args)).response as Answer;
        });
        return { response };
      },
    // The innermost place: what it returns is read as the service's answer.
    { step: 'deserialize', priority: 'low' },
  );
  return log;
}

/** A connection that breaks. */
export function connectionReset(): Error {
  return Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
}

/** Lets a request do its work and loses the answer. */
export async function loseAnswer(send: () => Promise<Answer>): Promise<Answer> {
  const answer = await send();
  answer.body.resume();
  throw connectionReset();
}

/** An answer of DynamoDB or SQS. */
export function jsonAnswer(statusCode: number, body: unknown): Answer {
  return {
    statusCode,
    headers: { 'content-type': 'application/x-amz-json-1.0' },
    body: Readable.from([Buffer.from(JSON.stringify(body))]),
  };
}

/** An error of DynamoDB or SQS. */
export function jsonError(statusCode: number, name: string): Answer {
  return jsonAnswer(statusCode, { __type: `com.amazonaws.service#${name}`, message: 'refused' });
}

/** An error of S3. */
export function xmlError(statusCode: number, name: string): Answer {
  const text = `<?xml version="1.0"?><Error><Code>${name}</Code><Message>refused</Message></Error>`;
  return {
    statusCode,
    headers: { 'content-type': 'application/xml' },
    body: Readable.from([Buffer.from(text)]),
  };
}

/** The JSON of an answer of DynamoDB or SQS. */
export async function readAnswer(answer: Answer): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body as AsyncIterable<Buffer>) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
}

function inputOf({ body, headers }: HttpRequest): SentRequest['input'] {
  if (headers['content-type']?.includes('json') !== true || body === undefined) return {};
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  return JSON.parse(text) as Record<string, unknown>;
}

function bytesOf({ body }: HttpRequest): number {
  if (body === undefined) return 0;
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length;
}

function setInput(request: HttpRequest, input: SentRequest['input']): void {
  request.body = JSON.stringify(input);
  request.headers['content-length'] = String(bytesOf(request));
}
