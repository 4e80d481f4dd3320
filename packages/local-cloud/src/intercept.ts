/** A request to S3, in parts. */
export interface S3Input {
  readonly bucket: string;
  /** Empty for a request about the bucket. */
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface RequestBase {
  /** For example `PutItem`, `SendMessageBatch`, `GetObject`. */
  readonly operation: string;
  /** Which execution environment asks; absent for pollers and for commands of users. */
  readonly environmentId: string | undefined;
}

/** A request that reaches an emulator. */
export type AwsRequest =
  | (RequestBase & {
      readonly service: 'dynamodb' | 'sqs';
      /** The body. */
      readonly input: Readonly<Record<string, unknown>>;
    })
  | (RequestBase & { readonly service: 's3'; readonly input: S3Input });

export type AwsService = AwsRequest['service'];

/** What an emulator answers, or is made to answer. */
export interface AwsResponse {
  readonly statusCode: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** In the place of a response: the connection is cut. */
export const lost: unique symbol = Symbol('lost');

/** Hands a request on to its emulator, as it is or changed; may be called not at all, or repeatedly. */
export type Proceed = (changed?: { readonly input: AwsRequest['input'] }) => Promise<AwsResponse>;

/**
 * Middleware around every request that reaches an emulator.
 *
 * Runs once a request, attempts again of an SDK included; pollers of the cloud itself come through it as
 * well. A promise that never settles is a stall, and ends with the cloud. What it throws goes to the log
 * of the functions, and its request is lost.
 *
 * @example Every put is done and its first answer lost, so that the SDK attempts again.
 * async ({ operation }, proceed) => {
 *   const response = await proceed();
 *   return operation === 'PutItem' && isFirst() ? lost : response;
 * }
 */
export type Intercept = (
  request: AwsRequest,
  proceed: Proceed,
) => Promise<AwsResponse | typeof lost>;
