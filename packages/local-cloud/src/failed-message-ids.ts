import * as z from 'zod';

const responseSchema = z
  .object({
    batchItemFailures: z.array(z.object({ itemIdentifier: z.string().min(1) })).nullish(),
  })
  .nullish();

/**
 * Which messages of a batch a function reports as failed.
 *
 * Nothing, or an empty list, is a success of all; a response that cannot be understood, or names a
 * message that is not of the batch, is a failure of all.
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
