import type { Message } from '@aws-sdk/client-sqs';
import { type DlqEntry, dlqMessageSchema } from '@thrice/core';
import { parseCellTask } from './sqs-task-queue.ts';

/**
 * Reads a message of the dead-message queue, received with all of its system attributes.
 *
 * @param laneQueueUrls - By lane: they tell where a task comes from that SQS moved there.
 */
export function parseDlqMessage(
  { Body: body = '', MessageId: messageId = '', Attributes: attributes = {} }: Message,
  laneQueueUrls: Readonly<Record<string, string>>,
): DlqEntry {
  const found = { messageId, sentAt: toInstant(attributes.SentTimestamp) };
  const message = dlqMessageSchema.safeParse(parseJson(body));
  if (message.success) {
    const { lane, task, error } = message.data;
    return { ...found, kind: 'message', lane, task, error };
  }
  const task = parseCellTask(body);
  if (!('problem' in task)) {
    const lane = laneOfQueue(attributes.DeadLetterQueueSourceArn, laneQueueUrls);
    return { ...found, kind: 'task', task, lane };
  }
  const isJson = parseJson(body) !== undefined;
  const problem = isJson
    ? 'expected a message or a task of version 1, received something else'
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
