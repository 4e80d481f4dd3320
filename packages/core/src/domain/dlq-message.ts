import * as z from 'zod';
import { cellErrorSchema } from './cell.ts';
import { cellTaskSchema } from './cell-task.ts';

/** A failed cell in the DLQ: the task that reached no score, and why. */
export const dlqMessageSchema = z.strictObject({
  v: z.literal(1),
  lane: z.string().min(1),
  task: cellTaskSchema,
  error: cellErrorSchema,
});
/** A failed cell in the DLQ. */
export type DlqMessage = z.infer<typeof dlqMessageSchema>;
