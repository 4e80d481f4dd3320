import * as z from 'zod';

const responseSchema = z
  .object({
    batchItemFailures: z.array(z.object({ itemIdentifier: z.string().min(1) })).nullish(),
  })
  .nullish();

/**
 * Returns the ids of the messages of a batch that a function reports as failed.
 *
 * No response or an empty list means that all succeeded. If the response is invalid or names a message
 * outside the batch, all failed.
 *
 * @param payload - The function's response, JSON.
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html (2026-11)
 */
export function failedMessageIds(
  payload: string,
  messageIds: readonly string[],
): ReadonlySet<string> {
  const parsed = responseSchema.safeParse(JSON.parse(payload));
  const all = new Set(messageIds);
  if (!parsed.success) return all;
  const failed = parsed.data?.batchItemFailures ?? [];
  const named = new Set(failed.map(({ itemIdentifier }) => itemIdentifier));
  return [...named].every((id) => all.has(id)) ? named : all;
}
