import {
  type AwsRequest,
  type AwsResponse,
  dynamoError,
  type Intercept,
  jsonOf,
  jsonResponse,
  lost,
  type Proceed,
  s3Error,
  sqsError,
} from '@thrice/local-cloud';
import * as z from 'zod';
import { seededDraw } from './kill-account.ts';

const batchSchema = z.object({ Entries: z.array(z.looseObject({ Id: z.string() })) });

/** Every message goes twice, and those of a batch in the opposite order first. */
export const everythingTwice: Intercept = async (request, proceed) => {
  if (request.service !== 'sqs' || !request.operation.startsWith('SendMessage')) {
    return await proceed();
  }
  const batch = batchSchema.safeParse(request.input);
  if (batch.success) {
    await proceed({ input: { ...request.input, Entries: batch.data.Entries.toReversed() } });
  } else await proceed();
  return await proceed();
};

/**
 * Throttling, server errors, lost answers and partial failures, to whoever asks but the pollers.
 *
 * @param rate - Share of requests that go wrong, 0..1.
 */
export function shakyServices(rate: number): Intercept {
  const draw = seededDraw(20261120);
  return async (request, proceed) => {
    const isPoller = request.environmentId === undefined && request.service === 'sqs';
    if (isPoller && !request.operation.startsWith('SendMessage')) return await proceed();
    if (request.operation === 'SendMessageBatch') return await failSomeEntries(request, proceed);
    if (draw() >= rate) return await proceed();
    const kind = draw();
    if (kind < 0.25) {
      await proceed();
      return lost;
    }
    return kind < 0.6 ? throttle(request) : serverError(request);
  };
}

/** Two entries of a batch fail, one of them with an answer that says so only after it was sent. */
async function failSomeEntries(request: AwsRequest, proceed: Proceed): Promise<AwsResponse> {
  const batch = batchSchema.parse(request.input);
  if (batch.Entries.length < 3) return await proceed();
  const [refused, doubted] = batch.Entries;
  const rest = batch.Entries.slice(1);
  const answer = jsonOf(await proceed({ input: { ...request.input, Entries: rest } }));
  const successful = z.array(z.looseObject({ Id: z.string() })).parse(answer['Successful']);
  const failed = [refused, doubted].map((entry) => ({
    Id: entry?.Id,
    SenderFault: false,
    Code: 'InternalError',
  }));
  return jsonResponse({
    ...answer,
    Successful: successful.filter(({ Id }) => Id !== doubted?.Id),
    Failed: failed,
  });
}

function throttle({ service }: AwsRequest): AwsResponse {
  if (service === 'dynamodb') return dynamoError('ProvisionedThroughputExceededException');
  return service === 's3' ? s3Error('SlowDown', 503) : sqsError('RequestThrottled');
}

function serverError({ service }: AwsRequest): AwsResponse {
  if (service === 'dynamodb') return dynamoError('InternalServerError', 500);
  return service === 's3' ? s3Error('InternalError', 500) : sqsError('InternalFailure', 500);
}
