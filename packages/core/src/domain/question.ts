import * as z from 'zod';

/** The longest id that fits in a DynamoDB sort key and, percent-encoded, in a file name. */
const MAX_ID_BYTES = 80;
/** UTF-8 takes no more than this for a unit of a string's length. */
const MAX_BYTES_PER_UNIT = 3;
const encoder = new TextEncoder();

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
  const isShort = id.length * MAX_BYTES_PER_UNIT <= MAX_ID_BYTES;
  if (!isShort && encoder.encode(id).length > MAX_ID_BYTES) return false;
  return !/[\p{Cc}\p{Zl}\p{Zp}#]/u.test(id);
}

/** An image of a question: its bytes, or an address that the vendor fetches. */
export const imageUrlSchema = z
  .string()
  .regex(
    /^(?:data:image\/[\w.+-]+;base64,|https?:\/\/)/,
    'expected an image as a data URL (data:image/png;base64,...) or an http or https address (this version reads no files)',
  );

/** The content of a message in OpenAI's format: a text, or parts in order. */
const questionContentSchema = z.union(
  [
    z.string(),
    z
      .array(
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('text'), text: z.string() }),
          z.strictObject({
            type: z.literal('image_url'),
            image_url: z.strictObject({ url: imageUrlSchema }),
          }),
        ]),
      )
      .min(1),
  ],
  'expected a text or a list of parts',
);

/** One chat message of a question row, in OpenAI's format. No vendor takes an image of any role but `user`. */
export const questionMessageSchema = z
  .strictObject({
    role: z.enum(['system', 'user', 'assistant']),
    content: questionContentSchema,
  })
  .refine(({ role, content }) => role === 'user' || typeof content === 'string', {
    path: ['content'],
    error: 'expected a text: only a message of the user has parts',
  });
/** One chat message of a question row. */
export type QuestionMessage = z.infer<typeof questionMessageSchema>;

/** A question in the normalized form that planning stores and workers read. */
export const questionSchema = z.strictObject({
  id: questionIdSchema,
  /** Null if `messages` is given instead, or if it was imported without its text. */
  question: z.string().nullable(),
  messages: z.array(questionMessageSchema).nullable(),
  /** Accepted answers; null if the question has none. */
  target: z.array(z.string()).nullable(),
  choices: z.array(z.string()).nullable(),
  rubric: z.unknown(),
  /** Images that are sent after the prompt. Absent for none. */
  attachments: z.array(imageUrlSchema).min(1).optional(),
  tags: z.record(z.string(), z.string()),
  metadata: z.record(z.string(), z.unknown()),
});
/** A question in the normalized form that planning stores and workers read. */
export type Question = z.infer<typeof questionSchema>;

/** Reads what a question itself has under a name that users chose, which may be that of something every object has. */
export function ownValue<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
