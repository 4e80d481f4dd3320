import { bbhSizeOf, configNameSchema, questionIdSchema } from '@thrice/core';
import * as z from 'zod';

/** What a task is called: `bbh/snarks/3` or `HumanEval/20`. The subtask becomes a tag, which cannot be `__proto__`. */
const TASK = /^(?:bbh\/(?!__proto__\/)(?<subtask>[^/]+)|HumanEval)\/(?<index>0|[1-9]\d{0,8})$/;

/** More than any arm makes; the calls are counted one by one. */
const MAX_CALLS = 1000;

/** A subtask says how many items it has, so that a first line plans no more tasks than there are. */
const subtaskSchema = z
  .string()
  .refine((name) => bbhSizeOf(name) !== undefined, 'expected a subtask of BIG-Bench Hard');

/** The first line of a sweep over BIG-Bench Hard: items `start` to `start + n_per_subtask - 1` of each subtask. */
export const echoMetaSchema = z.strictObject({
  _meta: z.literal(true),
  benchmark: z.literal('bbh'),
  subtasks: z.array(subtaskSchema).min(1),
  n_per_subtask: z.int().min(1),
  start: z.int().min(0),
  arms: z.array(configNameSchema).min(1),
});
/** The first line of a sweep over BIG-Bench Hard. */
export type EchoMeta = z.infer<typeof echoMetaSchema>;

/** What one arm made of one task. */
export const echoRowSchema = z.strictObject({
  task_id: questionIdSchema.regex(TASK, 'expected bbh/SUBTASK/INDEX or HumanEval/INDEX'),
  arm: configNameSchema,
  passed: z.boolean(),
  detail: z.string(),
  /** Of the whole arm; null where an export does not know it. */
  wall_seconds: z.number().min(0).nullable(),
  /** Calls of the arm; 0 if any of them threw. */
  sub_calls: z.int().min(0).max(MAX_CALLS),
  /** HumanEval has none. */
  benchmark: z.literal('bbh').optional(),
});
/** What one arm made of one task. */
export type EchoRow = z.infer<typeof echoRowSchema>;

/** A task by its parts; the subtask is undefined for HumanEval. */
export interface EchoTask {
  readonly subtask: string | undefined;
  readonly index: number;
}

/** Returns undefined for the id of a question that Echo has no name for. */
export function parseTask(id: string): EchoTask | undefined {
  const parts = TASK.exec(id)?.groups;
  return parts === undefined
    ? undefined
    : { subtask: parts['subtask'], index: Number(parts['index']) };
}
