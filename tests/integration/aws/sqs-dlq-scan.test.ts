import { text } from 'node:stream/consumers';
import { type Message, SendMessageCommand } from '@aws-sdk/client-sqs';
import { SqsDlqScan } from '@thrice/aws';
import type { DlqEntry } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { openQueues } from '../../support/aws-emulators.ts';
import { aCellTask } from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { aFailureEntry, aStrayTask, messageBody } from '../../support/dlq-messages.ts';
import { PassingClock } from '../../support/passing-clock.ts';
import {
  type Answer,
  type AnswerRequest,
  jsonAnswer,
  jsonError,
  loseAnswer,
  readAnswer,
  type SentRequest,
  standBetween,
} from '../../support/sdk-faults.ts';

const never = new AbortController().signal;
const MINUTES_5_MS = 300_000;

interface DlqOnEmulator extends AsyncDisposable {
  /** Opens a scan that meets the faults. */
  open(): SqsDlqScan;
  /** Opens another process's, without faults. */
  openOther(): SqsDlqScan;
  readonly clock: PassingClock;
  /** The requests of scans that meet the faults, in order. */
  readonly sent: readonly SentRequest[];
  /** Sends messages of any text. */
  send(...bodies: readonly string[]): Promise<void>;
  /** What another process finds, in order; it gives all of it back. */
  findOther(): Promise<readonly string[]>;
}

/** The emulator knows the older name of a parameter and waits by the machine's clock: neither is the scan's. */
function adapt({ operation, input }: Pick<SentRequest, 'operation' | 'input'>) {
  if (operation !== 'ReceiveMessage') return input;
  return { ...input, WaitTimeSeconds: 0, AttributeNames: input['MessageSystemAttributeNames'] };
}

async function openDlqScan(answer: AnswerRequest = (_, send) => send()): Promise<DlqOnEmulator> {
  const clock = new PassingClock();
  const { client, otherClient, queueUrls, ...queues } = await openQueues(clock, [
    'dead',
    'stage-LaneLabQueue',
  ]);
  const queueUrl = queueUrls.get('dead') ?? '';
  const laneQueueUrls = { lab: queueUrls.get('stage-LaneLabQueue') ?? '' };
  const init = { queueUrl, laneQueueUrls, clock, random: () => 0 };
  const sent = standBetween(client, (request, pass) =>
    answer(request, (input = request.input) => pass(adapt({ ...request, input }))),
  );
  standBetween(otherClient, (request, pass) => pass(adapt(request)));
  const openOther = () => new SqsDlqScan({ ...init, client: otherClient });
  return {
    open: () => new SqsDlqScan({ ...init, client }),
    openOther,
    clock,
    sent,
    send: async (...bodies) => {
      for (const MessageBody of bodies) {
        await otherClient.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody }));
      }
    },
    findOther: async () => {
      await using scan = openOther();
      return idsOf(await collect(scan.pages(never)));
    },
    [Symbol.asyncDispose]: () => queues[Symbol.asyncDispose](),
  };
}

/** Bodies of messages of q1..qn. */
function messagesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    messageBody(aFailureEntry({ id: `q${index + 1}` })),
  );
}

function idsOf(pages: readonly (readonly DlqEntry[])[]): readonly string[] {
  return pages.flat().map((entry) => (entry.kind === 'unreadable' ? entry.body : entry.task.id));
}

function operationsOf(sent: readonly SentRequest[]): readonly string[] {
  return sent.map(({ operation }) => operation);
}

function entriesOf({ input }: SentRequest) {
  return input['Entries'] as readonly {
    readonly Id: string;
    readonly ReceiptHandle: string;
    readonly VisibilityTimeout?: number;
  }[];
}

/** Changes the messages of a receive's answer. */
async function changeMessages(
  send: () => Promise<Answer>,
  change: (messages: readonly Message[]) => readonly Message[],
): Promise<Answer> {
  // Of no messages the emulator says nothing at all.
  const body = (await text((await send()).body)) || '{}';
  const { Messages = [] } = JSON.parse(body) as { Messages?: readonly Message[] };
  return jsonAnswer(200, { Messages: change(Messages) });
}

/** Lets the service do a batch without some of its entries, which fail with a code. */
async function failEntries(
  sent: SentRequest,
  send: (input: SentRequest['input']) => Promise<Answer>,
  ids: readonly string[],
  Code: string,
): Promise<Answer> {
  const Failed = ids.map((Id) => ({ Id, Code, SenderFault: Code !== 'InternalError' }));
  const left = entriesOf(sent).filter(({ Id }) => !ids.includes(Id));
  if (left.length === 0) return jsonAnswer(200, { Failed });
  const answer = await send({ ...sent.input, Entries: left });
  return jsonAnswer(200, { ...(await readAnswer(answer)), Failed });
}

const isReceive = ({ operation }: SentRequest) => operation === 'ReceiveMessage';

describe('SqsDlqScan', () => {
  describe('handing out', () => {
    it('reads messages, tasks that SQS moved there, and what is neither', async () => {
      const attributes = {
        SentTimestamp: '1767323045678',
        DeadLetterQueueSourceArn: 'arn:aws:sqs:us-east-1:123456789012:stage-LaneLabQueue',
      };
      await using store = await openDlqScan(async (sent, send) =>
        isReceive(sent)
          ? await changeMessages(send, (messages) =>
              messages.map((message, index) => ({
                ...message,
                MessageId: `m${index}`,
                Attributes: attributes,
              })),
            )
          : await send(),
      );
      const message = aFailureEntry({ generation: 1 }, { lane: 'openai' });
      const old = { ...aCellTask(), v: 2 };
      await store.send(
        messageBody(message),
        messageBody(aStrayTask()),
        '{"v":',
        JSON.stringify(old),
      );

      await using scan = store.open();
      const [page = []] = await collect(scan.pages(never));

      const sentAt = '2026-01-02T03:04:05.678Z';
      const other = 'expected a message or a task of version 1, received something else';
      expect(page).toEqual([
        { ...message, messageId: 'm0', sentAt },
        { ...aStrayTask(), messageId: 'm1', sentAt, lane: 'lab' },
        {
          kind: 'unreadable',
          messageId: 'm2',
          sentAt,
          problem: 'expected JSON, received 5 characters of something else',
          body: '{"v":',
        },
        { kind: 'unreadable', messageId: 'm3', sentAt, problem: other, body: JSON.stringify(old) },
      ]);
    });

    it.each([
      ['of a queue that is no lane', { DeadLetterQueueSourceArn: 'arn:aws:sqs:r:1:other' }],
      ['of no known queue', {}],
    ])('knows no lane for a task %s, and no time where there is none', async (_, Attributes) => {
      await using store = await openDlqScan(async (sent, send) =>
        isReceive(sent)
          ? await changeMessages(send, (messages) =>
              messages.map((message) => ({ ...message, Attributes })),
            )
          : await send(),
      );
      await store.send(messageBody(aStrayTask()));

      await using scan = store.open();
      const pages = await collect(scan.pages(never));

      expect(pages.flat()).toMatchObject([{ kind: 'task', lane: undefined, sentAt: null }]);
    });

    it('asks for ten at a time with what it needs of each, hidden for five minutes', async () => {
      await using store = await openDlqScan();
      await store.send(...messagesOf(11));

      await using scan = store.open();
      const pages = await collect(scan.pages(never));

      expect(pages.map(({ length }) => length)).toEqual([10, 1]);
      const { QueueUrl, ...input } = store.sent.find(isReceive)?.input ?? {};
      expect(QueueUrl).toMatch(/\/dead$/);
      expect(input).toEqual({
        MaxNumberOfMessages: 10,
        VisibilityTimeout: 300,
        WaitTimeSeconds: 1,
        MessageSystemAttributeNames: ['SentTimestamp', 'DeadLetterQueueSourceArn'],
      });
    });

    it('ends after three receives in a row without anything new', async () => {
      const quiet = [1, 2, 4, 5];
      await using store = await openDlqScan(async (sent, send) =>
        isReceive(sent) && quiet.includes(sent.index) ? jsonAnswer(200, {}) : await send(),
      );
      await store.send(...messagesOf(21));

      await using scan = store.open();
      const pages = await collect(scan.pages(never));

      expect(pages.map(({ length }) => length)).toEqual([10, 10, 1]);
      // Receives 0, 3 and 6 bring something, 7 to 9 do not.
      expect(store.sent.filter(isReceive)).toHaveLength(10);
    });

    it('hands a message on once that the queue hands out again, and ends', async () => {
      let again: readonly Message[] = [];
      await using store = await openDlqScan(async (sent, send) =>
        isReceive(sent)
          ? await changeMessages(send, (messages) => {
              again = sent.index === 0 ? messages : again;
              const renewed = again.map((message) => ({ ...message, ReceiptHandle: 'newer' }));
              return sent.index === 0 ? messages : [...renewed, ...renewed, ...messages];
            })
          : await send(),
      );
      await store.send(...messagesOf(11));

      await using scan = store.open();
      const pages = await collect(scan.pages(never));

      expect(idsOf(pages)).toHaveLength(11);
      expect(new Set(idsOf(pages)).size).toBe(11);
      expect(store.sent.filter(isReceive)).toHaveLength(5);
    });

    it('stops between two pages and gives back what it had', async () => {
      await using store = await openDlqScan();
      await store.send(...messagesOf(21));
      const stop = new AbortController();
      const seen: number[] = [];

      {
        await using scan = store.open();
        for await (const page of scan.pages(stop.signal)) {
          seen.push(page.length);
          stop.abort();
        }
      }

      expect(seen).toEqual([10]);
      expect(store.sent.filter(isReceive)).toHaveLength(1);
      expect(await store.findOther()).toHaveLength(21);
    });
  });

  describe('removing', () => {
    it('deletes what it is told and gives back the others at its end', async () => {
      await using store = await openDlqScan();
      await store.send(...messagesOf(12));

      {
        await using scan = store.open();
        for await (const page of scan.pages(never)) {
          const even = page.filter((entry) => /[02468]$/.test(idsOf([[entry]]).join('')));
          await scan.remove(even);
        }
        expect(await store.findOther()).toEqual([]);
      }

      expect(await store.findOther()).toEqual(['q1', 'q3', 'q5', 'q7', 'q9', 'q11']);
      expect(operationsOf(store.sent).filter((name) => name.endsWith('Batch'))).toEqual([
        'DeleteMessageBatch',
        'DeleteMessageBatch',
        'ChangeMessageVisibilityBatch',
      ]);
    });

    it('asks for nothing where there is nothing to remove', async () => {
      await using store = await openDlqScan();
      await store.send(...messagesOf(1));

      {
        await using scan = store.open();
        const pages = await collect(scan.pages(never));
        await scan.remove([]);
        await scan.remove(pages.flat());
        await scan.remove(pages.flat());
      }

      const ofReceives = [
        'GetQueueAttributes',
        ...Array.from({ length: 4 }, () => 'ReceiveMessage'),
      ];
      expect(operationsOf(store.sent)).toEqual([...ofReceives, 'DeleteMessageBatch']);
    });

    it('deletes by the newest receipt, and once more what comes back all the same', async () => {
      let first: readonly Message[] = [];
      await using store = await openDlqScan(async (sent, send) => {
        if (!isReceive(sent)) return await send();
        return await changeMessages(send, (messages) => {
          first = sent.index === 0 ? messages : first;
          if (sent.index !== 1) return messages;
          return [...first.map((message) => ({ ...message, ReceiptHandle: 'newer' })), ...messages];
        });
      });
      await store.send(...messagesOf(11));
      const removed: DlqEntry[] = [];

      {
        await using scan = store.open();
        for await (const page of scan.pages(never)) {
          if (removed.length === 0) await scan.remove(page.slice(0, 1));
          removed.push(...page);
        }
      }

      const deleted = store.sent.filter(({ operation }) => operation === 'DeleteMessageBatch');
      expect(deleted.map((sent) => entriesOf(sent).map((each) => each.ReceiptHandle))).toEqual([
        [first[0]?.ReceiptHandle],
        ['newer'],
      ]);
      expect(removed).toHaveLength(11);
      const back = store.sent.filter(({ operation }) => operation.startsWith('Change'));
      const receipts = back.flatMap((sent) => entriesOf(sent).map((each) => each.ReceiptHandle));
      expect(receipts.filter((receipt) => receipt === 'newer')).toHaveLength(9);
      expect(receipts).toHaveLength(10);
    });

    it('deletes the entries that failed once more, and only those', async () => {
      await using store = await openDlqScan(async (sent, send) =>
        sent.operation === 'DeleteMessageBatch' && sent.index < 2
          ? await failEntries(sent, send, ['3', '7'], 'InternalError')
          : await send(),
      );
      await store.send(...messagesOf(10));

      {
        await using scan = store.open();
        for await (const page of scan.pages(never)) await scan.remove(page);
      }

      const deleted = store.sent.filter(({ operation }) => operation === 'DeleteMessageBatch');
      expect(
        deleted.map((sent) =>
          entriesOf(sent)
            .map(({ Id }) => Id)
            .join(''),
        ),
      ).toEqual(['0123456789', '37', '37']);
      expect(store.clock.sleptMs).toEqual([50, 100]);
      expect(await store.findOther()).toEqual([]);
    });

    it('deletes although the answers are lost', async () => {
      await using store = await openDlqScan(async (sent, send) =>
        sent.operation === 'DeleteMessageBatch' && sent.index === 0
          ? await loseAnswer(send)
          : await send(),
      );
      await store.send(...messagesOf(2));

      {
        await using scan = store.open();
        for await (const page of scan.pages(never)) await scan.remove(page);
      }

      expect(operationsOf(store.sent).filter((name) => name.startsWith('Delete'))).toHaveLength(2);
      expect(await store.findOther()).toEqual([]);
    });

    it.each(['AccessDenied', 'KmsAccessDenied'])(
      'gives up at %s and loses nothing',
      async (name) => {
        await using store = await openDlqScan(async (sent, send) =>
          sent.operation.endsWith('Batch') ? jsonError(403, name) : await send(),
        );
        await store.send(...messagesOf(2));

        const removing = (async () => {
          await using scan = store.open();
          for await (const page of scan.pages(never)) await scan.remove(page);
        })();

        // And not that it could not give them back either.
        await expect(removing).rejects.toMatchObject({ code: 'store-unusable' });
        expect(await store.findOther()).toEqual([]);
        store.clock.advance(MINUTES_5_MS);
        expect(await store.findOther()).toEqual(['q1', 'q2']);
      },
    );
  });

  describe('holding', () => {
    it('gives everything back when its caller throws', async () => {
      await using store = await openDlqScan();
      await store.send(...messagesOf(25));

      const scanning = (async () => {
        await using scan = store.open();
        for await (const page of scan.pages(never)) {
          if (page.length < 10) throw new Error('broken');
        }
      })();

      await expect(scanning).rejects.toThrow('broken');
      expect(await store.findOther()).toHaveLength(25);
    });

    it('gives the entries back that failed once more, and takes stale receipts for done', async () => {
      await using store = await openDlqScan(async (sent, send) => {
        if (!sent.operation.startsWith('Change')) return await send();
        if (sent.index === 0) return await failEntries(sent, send, ['1'], 'InternalError');
        return await failEntries(sent, send, ['1'], 'ReceiptHandleIsInvalid');
      });
      await store.send(...messagesOf(3));

      {
        await using scan = store.open();
        await collect(scan.pages(never));
      }

      const back = store.sent.filter(({ operation }) => operation.startsWith('Change'));
      expect(back.map((sent) => entriesOf(sent).map(({ Id }) => Id))).toEqual([
        ['0', '1', '2'],
        ['1'],
      ]);
      expect(entriesOf(back[0] as SentRequest).map((each) => each.VisibilityTimeout)).toEqual([
        0, 0, 0,
      ]);
      expect(await store.findOther()).toEqual(['q1', 'q3']);
    });

    it.each([
      [500, 'InternalFailure'],
      [403, 'AccessDenied'],
    ])('ends in peace when nothing can be given back (%i %s)', async (status, name) => {
      await using store = await openDlqScan(async (sent, send) =>
        sent.operation.startsWith('Change') ? jsonError(status, name) : await send(),
      );
      await store.send(...messagesOf(2));

      {
        await using scan = store.open();
        await collect(scan.pages(never));
      }

      store.clock.advance(MINUTES_5_MS);
      expect(await store.findOther()).toEqual(['q1', 'q2']);
    });

    it('leaves what a killed process had in flight to come back after five minutes', async () => {
      await using store = await openDlqScan();
      await store.send(...messagesOf(12));

      await collect(store.open().pages(never));

      store.clock.advance(MINUTES_5_MS - 1);
      expect(await store.findOther()).toEqual([]);
      store.clock.advance(1);
      expect(await store.findOther()).toHaveLength(12);
    });

    it('hides what it holds anew, in tens, however long it takes', async () => {
      await using store = await openDlqScan();
      await store.send(...messagesOf(35));
      const seen: string[] = [];

      await using scan = store.open();
      for await (const page of scan.pages(never)) {
        seen.push(...idsOf([page]));
        store.clock.advance(100_000);
        expect(await store.findOther()).toHaveLength(35 - seen.length);
      }

      expect(seen.toSorted()).toEqual([...new Set(seen)].toSorted());
      expect(seen).toHaveLength(35);
      const anew = store.sent.filter(({ operation }) => operation.startsWith('Change'));
      expect(anew.map((sent) => entriesOf(sent).length)).toEqual([10, 10, 10, 10]);
      const times = anew.flatMap((sent) => entriesOf(sent).map((each) => each.VisibilityTimeout));
      expect(new Set(times)).toEqual(new Set([300]));
    }, 30_000);

    it('loses nothing with the answer of a receive', async () => {
      await using store = await openDlqScan(async (sent, send) =>
        isReceive(sent) && sent.index === 0 ? await loseAnswer(send) : await send(),
      );
      await store.send(...messagesOf(13));

      {
        await using scan = store.open();
        expect(idsOf(await collect(scan.pages(never)))).toEqual(['q11', 'q12', 'q13']);
        expect(scan.unseenCount).toBe(10);
      }

      store.clock.advance(MINUTES_5_MS);
      expect(await store.findOther()).toHaveLength(13);
    });
  });

  describe('counting what it has not seen', () => {
    it.each([
      ['7', 4],
      ['3', 0],
      ['2', 0],
    ])('of %s in the queue and 3 handed out says %i, removed or not', async (counted, unseen) => {
      await using store = await openDlqScan(async (sent, send) =>
        sent.operation === 'GetQueueAttributes'
          ? jsonAnswer(200, {
              Attributes: {
                ApproximateNumberOfMessages: counted,
                ApproximateNumberOfMessagesDelayed: '0',
                ApproximateNumberOfMessagesNotVisible: '0',
              },
            })
          : await send(),
      );
      await store.send(...messagesOf(3));

      await using scan = store.open();
      const pages = await collect(scan.pages(never));

      expect(scan.unseenCount).toBe(unseen);
      await scan.remove(pages.flat().slice(1));
      expect(scan.unseenCount).toBe(unseen);
    });
  });

  it.each([
    ['GetQueueAttributes', 403, 'AccessDenied', 'store-unusable'],
    ['ReceiveMessage', 400, 'QueueDoesNotExist', 'store-unusable'],
    ['ReceiveMessage', 400, 'OverLimit', 'store-unavailable'],
    ['ReceiveMessage', 503, 'ServiceUnavailable', 'store-unavailable'],
  ])('tells %s %i %s as %s', async (operation, status, name, code) => {
    await using store = await openDlqScan(async (sent, send) =>
      sent.operation === operation ? jsonError(status, name) : await send(),
    );
    await using scan = store.open();

    const scanning = collect(scan.pages(never));

    await expect(scanning).rejects.toMatchObject({ code });
  });
});
