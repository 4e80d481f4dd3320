import * as z from 'zod';

/** The longest id that fits a DynamoDB sort key and, percent-encoded, a file name. */
const MAX_ID_BYTES = 80;

/**
 * A question's id: what people type and what keys and file names are made of.
 *
 * Unsafe are: control characters, `#` (it parts keys), white space at the ends, `.` and `..`, and
 * more than 80 bytes of UTF-8 (percent-encoded, a file name has 255).
 */
export const questionIdSchema = z
  .string()
  .min(1)
  .refine(isSafeId, {
    error: `expected an id of at most ${MAX_ID_BYTES} bytes without "#", control characters or white space at its ends`,
  });

function isSafeId(id: string): boolean {
  if (id === '.' || id === '..' || id !== id.trim() || !id.isWellFormed()) return false;
  if (new TextEncoder().encode(id).length > MAX_ID_BYTES) return false;
  return !/[\p{Cc}\p{Zl}\p{Zp}#]/u.test(id);
}

/** One chat message of a question row, as the OpenAI protocol writes it; text only. */
export const questionMessageSchema = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string(),
});

/** A question in the one form that planning stores and workers read. */
export const questionSchema = z.strictObject({
  id: questionIdSchema,
  /** Null where `messages` is given instead. */
  question: z.string().nullable(),
  messages: z.array(questionMessageSchema).nullable(),
  /** Accepted answers; null if there is none to compare with. */
  target: z.array(z.string()).nullable(),
  choices: z.array(z.string()).nullable(),
  rubric: z.unknown(),
  tags: z.record(z.string(), z.string()),
  metadata: z.record(z.string(), z.unknown()),
});
/** A question in the one form that planning stores and workers read. */
export type Question = z.infer<typeof questionSchema>;
