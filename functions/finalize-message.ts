import { SendMessageCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { Composition } from './compose.ts';

/** The message that asks for a group's results. */
export const finalizeMessageSchema = z.strictObject({ v: z.literal(1), group: z.string().min(1) });

/** Asks for a group's results to be written; asking twice writes them twice, the same. */
export async function askForFinalization(
  group: string,
  { sqs, stage }: Pick<Composition, 'sqs' | 'stage'>,
): Promise<void> {
  const message: z.infer<typeof finalizeMessageSchema> = { v: 1, group };
  await sqs.send(
    new SendMessageCommand({
      QueueUrl: stage.finalizeQueueUrl,
      MessageBody: JSON.stringify(message),
    }),
  );
}
