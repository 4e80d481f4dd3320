import * as z from 'zod';

/** The longest id that fits in a DynamoDB sort key and, percent-encoded, in a file name. */
const MAX_ID_BYTES = 80;

/**
 * A question's id, which users type and which becomes part of keys and file names.
 *
 * Rejects control characters, `#` (the key separator), leading or trailing white space, `.`, `..`, and
 * ids over 80 bytes of UTF-8 (a file name holds 255 bytes after percent-encoding).
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

/** One text-only chat message of a question row, in OpenAI's format. */
export const questionMessageSchema = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string(),
});

/** A question in the normalized form that planning stores and workers read. */
export const questionSchema = z.strictObject({
  id: questionIdSchema,
  /** Null if `messages` is given instead. */
  question: z.string().nullable(),
  messages: z.array(questionMessageSchema).nullable(),
  /** Accepted answers; null if the question has none. */
  target: z.array(z.string()).nullable(),
  choices: z.array(z.string()).nullable(),
  rubric: z.unknown(),
  tags: z.record(z.string(), z.string()),
  metadata: z.record(z.string(), z.unknown()),
});
/** A question in the normalized form that planning stores and workers read. */
export type Question = z.infer<typeof questionSchema>;
