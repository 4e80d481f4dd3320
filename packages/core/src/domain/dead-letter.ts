import * as z from 'zod';
import { cellErrorSchema } from './cell.ts';
import { cellTaskSchema } from './cell-task.ts';

/** A failed cell in the dead letters: the task that reached no verdict, and why. */
export const deadLetterSchema = z.strictObject({
  v: z.literal(1),
  lane: z.string().min(1),
  task: cellTaskSchema,
  error: cellErrorSchema,
});
/** A failed cell in the dead letters. */
export type DeadLetter = z.infer<typeof deadLetterSchema>;
