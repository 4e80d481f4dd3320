import type { Message } from '@aws-sdk/client-sqs';
import { type DeadLetterEntry, deadLetterSchema } from '@thrice/core';
import { parseCellTask } from './sqs-task-queue.ts';

/**
 * Reads a message of the dead-letter queue, received with all of its system attributes.
 *
 * @param laneQueueUrls - By lane: they tell where a task comes from that SQS moved there.
 */
export function parseDeadLetter(
  { Body: body = '', MessageId: messageId = '', Attributes: attributes = {} }: Message,
  laneQueueUrls: Readonly<Record<string, string>>,
): DeadLetterEntry {
  const found = { messageId, sentAt: toInstant(attributes.SentTimestamp) };
  const letter = deadLetterSchema.safeParse(parseJson(body));
  if (letter.success) {
    const { lane, task, error } = letter.data;
    return { ...found, kind: 'letter', lane, task, error };
  }
  const task = parseCellTask(body);
  if (!('problem' in task)) {
    const lane = laneOfQueue(attributes.DeadLetterQueueSourceArn, laneQueueUrls);
    return { ...found, kind: 'task', task, lane };
  }
  const isJson = parseJson(body) !== undefined;
  const problem = isJson
    ? 'expected a letter or a task of version 1, received something else'
    : task.problem;
  return { ...found, kind: 'unreadable', problem, body };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param milliseconds - Since 1970, as SQS writes it. */
function toInstant(milliseconds: string | undefined): string | null {
  return milliseconds !== undefined && /^\d{1,15}$/.test(milliseconds)
    ? new Date(Number(milliseconds)).toISOString()
    : null;
}

function laneOfQueue(
  arn: string | undefined,
  laneQueueUrls: Readonly<Record<string, string>>,
): string | undefined {
  const queueName = arn?.split(':').at(-1) ?? '';
  if (queueName === '') return undefined;
  return Object.keys(laneQueueUrls).find((lane) => laneQueueUrls[lane]?.endsWith(`/${queueName}`));
}
