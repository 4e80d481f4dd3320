import * as z from 'zod';
import { cellTaskSchema } from './cell-task.ts';
import { cellErrorSchema } from './error-code.ts';

/** The DLQ message of a failed cell: its task, and the error that failed it. */
export const dlqMessageSchema = z.strictObject({
  v: z.literal(1),
  lane: z.string().min(1),
  task: cellTaskSchema,
  error: cellErrorSchema,
});
/** The DLQ message of a failed cell. */
export type DlqMessage = z.infer<typeof dlqMessageSchema>;
