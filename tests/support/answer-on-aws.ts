import {
  DynamoBudgets,
  DynamoLaneStates,
  DynamoLedger,
  S3BlobStore,
  SqsTaskQueue,
} from '@thrice/aws';
import { type CellTask, loadGroup, openBudget, openTaskMemory } from '@thrice/core';
import { createAnswerHandler } from '../../functions/shared/answer-handler.ts';
import type { BatchResponse } from '../../functions/shared/sqs-event.ts';
import { type DynamoEmulator, openBucket, openQueues } from './aws-emulators.ts';
import type { FakeAnswer } from './fake-model-client.ts';
import type { StageGroup } from './fake-stage.ts';
import { LambdaStage, sqsEvent } from './lambda-stage.ts';
import { interceptRequests } from './sdk-faults.ts';

/** The answer function of one process over emulators of the AWS services, with a planned group. */
export interface AnswerOnAws extends AsyncDisposable {
  readonly lambda: LambdaStage;
  readonly ledger: DynamoLedger;
  /** Handles one event with the tasks of cells, and deletes the messages that have not failed, as Lambda does. */
  answer(ids: readonly string[]): Promise<BatchResponse>;
  /** Counts the requests to AWS since the last call, by service and operation. */
  countRequests(): Readonly<Record<string, number>>;
}

/** Opens the answer function; its requests to AWS are counted. */
export async function openAnswerOnAws(
  dynamo: Pick<DynamoEmulator, 'openTable'>,
  group: StageGroup,
  modelAnswer?: FakeAnswer,
): Promise<AnswerOnAws> {
  await using owned = new AsyncDisposableStack();
  const lambda = new LambdaStage(modelAnswer);
  const { clock, stage } = lambda;
  const table = owned.use(await dynamo.openTable());
  const bucket = owned.use(await openBucket());
  const queues = owned.use(await openQueues(clock, ['lab']));
  const random = () => 0;
  const blobs = new S3BlobStore({ client: bucket.client, bucket: bucket.bucket });
  const ledger = new DynamoLedger({ ...table, clock, random, blobs });
  const budgets = new DynamoBudgets({ ...table, clock, random, blobs });
  const onPoison = () => undefined;
  const queue = new SqsTaskQueue({ ...queues, clock, random, onPoison });
  const poller = new SqsTaskQueue({
    ...queues,
    client: queues.otherClient,
    clock,
    random,
    onPoison,
  });
  const header = await stage.enter(group);
  await ledger.createGroup(header);
  const { benchmark } = loadGroup({ header, state: 'active', isPlanned: true });
  await openBudget(header, benchmark, budgets);
  await blobs.write(header.questions.key, [stage.blobs.texts.get(header.questions.key) ?? '']);
  const logs = {
    sqs: interceptRequests(queues.client),
    dynamodb: interceptRequests(table.client),
    s3: interceptRequests(bucket.client),
  };
  const seen = { sqs: 0, dynamodb: 0, s3: 0 };
  const countRequests = () => {
    const counts: Record<string, number> = {};
    for (const service of ['sqs', 'dynamodb', 's3'] as const) {
      for (const { operation } of logs[service].slice(seen[service])) {
        const name = `${service} ${operation}`;
        counts[name] = (counts[name] ?? 0) + 1;
      }
      seen[service] = logs[service].length;
    }
    return counts;
  };
  const states = new DynamoLaneStates({ ...table, clock, random });
  const stores = { ledger, budgets, blobs, queue, ...openTaskMemory({ states, clock, random }) };
  const compose = () => ({ ...lambda.compose(), ...stores });
  const handler = createAnswerHandler({ compose, openModels: lambda.openModels });
  const running = owned.move();
  return {
    lambda,
    ledger,
    answer: async (ids) => {
      const tasks: CellTask[] = [];
      for (const id of ids) {
        const delivery = await stage.deliver({ id });
        tasks.push(delivery.task);
        await stage.queue.acknowledge(delivery);
      }
      await poller.send('lab', tasks);
      const received = await poller.receive('lab', tasks.length);
      const response = await handler(sqsEvent(received), lambda.startInvocation());
      const failed = response.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
      const handled = received.filter(({ task }) => !failed.includes(task.id));
      await Promise.all(handled.map((delivery) => poller.acknowledge(delivery)));
      return response;
    },
    countRequests,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
