import * as z from 'zod';
import { benchmarkSpecSchema } from './benchmark-spec.ts';

/** What is wanted of a group; `cancelled` asks every worker to stop, `resume` makes it active again. */
export const groupStateSchema = z.enum(['active', 'cancelled']);
/** What is wanted of a group. */
export type GroupState = z.infer<typeof groupStateSchema>;

const sourceFileSchema = z.strictObject({ path: z.string(), sha256: z.string() });
/** A file the plan was made from, and its digest at that time. */
export type SourceFile = z.infer<typeof sourceFileSchema>;

/**
 * Everything a group needs to be carried on from: written once when it is planned, never changed.
 *
 * `spec` holds the prompts of `prompt_file` inline and `questions` names a stored copy, so a resume
 * reads no other file.
 */
export const groupHeaderSchema = z.strictObject({
  schemaVersion: z.literal(1),
  group: z.string(),
  /** The benchmark's name. */
  benchmark: z.string(),
  /** What the group is called by: `--label`, else the benchmark's name. */
  label: z.string(),
  createdAt: z.iso.datetime(),
  spec: benchmarkSpecSchema,
  specSource: sourceFileSchema,
  questionSources: z.array(sourceFileSchema),
  /** The dataset's name where one was used: it knows the averages its authors publish. */
  dataset: z.enum(['bbh']).nullable(),
  questions: z.strictObject({ key: z.string(), sha256: z.string(), count: z.int().min(1) }),
  runs: z.array(z.string()).min(1),
  /** Cells of each config in one run; a config that was skipped has 0 and a reason. */
  configs: z.array(
    z.strictObject({
      config: z.string(),
      cells: z.int().min(0),
      skipped: z.string().nullable(),
    }),
  ),
  waitForQuota: z.boolean(),
  keys: z.record(z.string(), z.enum(['present', 'missing', 'not-needed', 'unknown'])),
  commandLine: z.array(z.string()),
  toolVersion: z.string(),
  commit: z.string().nullable(),
});
/** Everything a group needs to be carried on from. */
export type GroupHeader = z.infer<typeof groupHeaderSchema>;

/** The group a run belongs to: `<group>-r<k>`. */
export function groupOfRun(run: string): string {
  return run.replace(/-r\d+$/, '');
}
