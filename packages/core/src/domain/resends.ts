import * as z from 'zod';
import { cellErrorSchema } from './error-code.ts';

/** How a task has been sent again since its cell last made progress. */
export const resendsSchema = z.strictObject({
  count: z.int().min(1),
  /** When it was first sent again. */
  since: z.iso.datetime(),
  /** Why it was sent again last. */
  code: cellErrorSchema.shape.code,
});
/** How a task has been sent again since its cell last made progress; see {@link resendsSchema}. */
export type Resends = z.infer<typeof resendsSchema>;

/** The most recent of the noted tasks of a config. */
export const resendNoteSchema = resendsSchema.extend({
  config: z.string(),
  /** The question of the cell. */
  id: z.string(),
  /** When it was noted. */
  at: z.iso.datetime(),
});
/** The most recent of the noted tasks of a config; see {@link resendNoteSchema}. */
export type ResendNote = z.infer<typeof resendNoteSchema>;
