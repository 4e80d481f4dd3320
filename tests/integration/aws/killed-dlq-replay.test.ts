import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { DynamoActiveGroups, DynamoLedger, SqsDlqScan, SqsTaskQueue } from '@thrice/aws';
import { type CellDlqEntry, type DlqReport, replayMessages } from '@thrice/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DynamoEmulator, openQueues, startDynamo } from '../../support/aws-emulators.ts';
import { aCellKey, aCellResult, aFailedResult, aGroupHeader } from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { aFailureEntry, aStrayTask, messageBody } from '../../support/dlq-messages.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';
import { PassingClock } from '../../support/passing-clock.ts';
import { type Answer, type SentRequest, standBetween } from '../../support/sdk-faults.ts';

const LANES = ['lab', 'openai'];
const HIDDEN_MS = 300_000;
const never = new AbortController().signal;

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

/** Two pages: messages of two runs, several of one cell, of an answered one, tasks, and what nobody can read. */
const entries: readonly (CellDlqEntry | 'unreadable')[] = [
  aFailureEntry({ id: 'q1' }),
  aFailureEntry({ id: 'q1', run: 'demo-r2' }),
  aFailureEntry({ id: 'q2' }),
  'unreadable',
  aFailureEntry({ id: 'q3', generation: 1 }, { lane: 'openai' }),
  aFailureEntry({ id: 'q3' }, { lane: 'openai' }),
  aFailureEntry({ id: 'answered' }),
  aFailureEntry({ id: 'q2', run: 'demo-r2' }),
  aFailureEntry({ id: 'q3', run: 'demo-r2' }),
  aStrayTask({ id: 'stray', run: 'demo-r2' }),
  aFailureEntry({ id: 'q2' }),
  aFailureEntry({ id: 'q4' }),
  aStrayTask({ id: 'stray' }),
];
const expectedTasks = ['lab q1 g1', 'lab q2 g1', 'lab q4 g1', 'lab stray g0', 'openai q3 g2'];
const expectedLeft = ['q1', 'q2', 'q3', 'stray', 'unreadable'];

/** The requests of a replay to which nothing happens. */
const operations = [
  'GetQueueAttributes',
  'ReceiveMessage',
  'BatchGetItem',
  'GetItem',
  'PutItem',
  'SendMessageBatch',
  'SendMessageBatch',
  'DeleteMessageBatch',
  'ReceiveMessage',
  'BatchGetItem',
  'SendMessageBatch',
  'DeleteMessageBatch',
  'ReceiveMessage',
  'ReceiveMessage',
  'ReceiveMessage',
  'ChangeMessageVisibilityBatch',
];

/** A process that is killed before one of its requests: none leaves it any more. */
class Process {
  /** Every request that left. */
  readonly operations: string[] = [];
  readonly #killAt: number;

  /** @param killAt - From 1; beyond its last request, the process is not killed. */
  constructor(killAt: number) {
    this.#killAt = killAt;
  }

  async send({ operation }: SentRequest, send: () => Promise<Answer>): Promise<Answer> {
    if (this.operations.length + 1 >= this.#killAt) throw new Error('killed');
    this.operations.push(operation);
    return await send();
  }
}

/** A group whose messages lie in the queue; one process that may be killed, another that is not. */
async function openStage() {
  const clock = new PassingClock();
  const random = () => 0;
  const table = await dynamo.openTable();
  const queues = await openQueues(clock, ['dead', ...LANES]);
  const { tableName } = table;
  const queueUrl = queues.queueUrls.get('dead') ?? '';
  const storesOf = (of: typeof table.client, sqs: SQSClient) => ({
    ledger: new DynamoLedger({ client: of, tableName, blobs: new FakeBlobStore(), clock, random }),
    activeGroups: new DynamoActiveGroups({ client: of, tableName, clock, random }),
    queue: new SqsTaskQueue({
      client: sqs,
      queueUrls: queues.queueUrls,
      clock,
      random,
      onPoison: () => undefined,
    }),
    lanes: new Set(LANES),
  });
  const scanOf = (sqs: SQSClient) =>
    new SqsDlqScan({ client: sqs, queueUrl, laneQueueUrls: {}, clock, random });
  const replayWith = async (of: typeof table.client, sqs: SQSClient): Promise<DlqReport> => {
    await using scan = scanOf(sqs);
    const filter = { runs: new Set(['demo-r1']) };
    return await replayMessages({ scan, filter, stop: never }, storesOf(of, sqs));
  };
  const whole = storesOf(table.client, queues.otherClient);
  standBetween(queues.otherClient, (sent, send) => send(withoutWait(sent)));
  await plan(whole.ledger);
  for (const entry of entries) {
    const MessageBody = entry === 'unreadable' ? entry : messageBody(entry);
    await queues.otherClient.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }));
  }
  return {
    clock,
    ...whole,
    replay: () => replayWith(table.client, queues.otherClient),
    /** To be called once. */
    replayAs: (process: Process) => {
      standBetween(table.otherClient, (sent, send) => process.send(sent, send));
      standBetween(queues.client, (sent, send) =>
        process.send(sent, () => send(withoutWait(sent))),
      );
      return replayWith(table.otherClient, queues.client);
    },
    /** The tasks in the lanes, each once. */
    tasks: async () => {
      // One after another: of two receives at once the emulator may give up one too early.
      const found = [
        ...(await whole.queue.receive('lab', 10)),
        ...(await whole.queue.receive('openai', 10)),
      ];
      const names = found.map(({ lane, task }) => `${lane} ${task.id} g${task.generation}`);
      return [...new Set(names)].toSorted();
    },
    /** What is visible in the DLQ, by id. */
    left: async () => {
      await using scan = scanOf(queues.otherClient);
      const found = (await collect(scan.pages(never))).flat();
      const ids = found.map((entry) => (entry.kind === 'unreadable' ? entry.body : entry.task.id));
      return ids.toSorted();
    },
    [Symbol.asyncDispose]: async () => {
      await queues[Symbol.asyncDispose]();
      await table[Symbol.asyncDispose]();
    },
  };
}

/** The emulator waits by the machine's clock. */
function withoutWait({ operation, input }: SentRequest): SentRequest['input'] {
  return operation === 'ReceiveMessage' ? { ...input, WaitTimeSeconds: 0 } : input;
}

/** Two runs, of which the first one's cells have failed but for one. */
async function plan(ledger: DynamoLedger): Promise<void> {
  await ledger.createGroup(aGroupHeader({ runs: ['demo-r1', 'demo-r2'] }));
  for (const id of ['q1', 'q2', 'q3', 'q4', 'answered']) {
    const result = id === 'answered' ? aCellResult() : aFailedResult();
    for (const generation of id === 'q3' ? [0, 1] : [0]) {
      await ledger.claimCell(aCellKey({ id }), generation, 'worker');
      await ledger.completeCell(aCellKey({ id }), 'worker', result, []);
    }
  }
}

describe('a replay over the services', () => {
  it('sends what is meant, then deletes its messages, and gives back the rest', async () => {
    await using stage = await openStage();
    const process = new Process(Number.POSITIVE_INFINITY);

    const report = await stage.replayAs(process);

    expect(report).toEqual({
      messages: {
        seen: 13,
        matched: 8,
        replayed: 6,
        stale: 2,
        dropped: 0,
        unreadable: 0,
        kept: 5,
      },
      cells: { matched: 6, replayed: 5 },
      problems: [],
      unseen: 0,
      isInterrupted: false,
    });
    expect(process.operations).toEqual(operations);
    expect(await stage.tasks()).toEqual(expectedTasks);
    expect(await stage.left()).toEqual(expectedLeft);
    expect(await stage.activeGroups.list()).toMatchObject([{ group: 'demo' }]);
  });

  // A request that is served although nobody reads its answer is the kill before the next one.
  it.each(operations.map((operation, index) => [index + 1, operation] as const))(
    'killed before request %i (%s) and begun once more sends each cell in one generation, loses nothing',
    async (killAt) => {
      await using stage = await openStage();
      await expect(stage.replayAs(new Process(killAt))).rejects.toThrow();
      stage.clock.advance(HIDDEN_MS);

      const report = await stage.replay();

      expect(report.problems).toEqual([]);
      expect(await stage.tasks()).toEqual(expectedTasks);
      expect(await stage.left()).toEqual(expectedLeft);
      expect(await stage.activeGroups.list()).toMatchObject([{ group: 'demo' }]);
    },
    30_000,
  );
});
