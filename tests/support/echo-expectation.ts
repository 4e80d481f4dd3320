import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { sharedDataDir } from './shared-data.ts';

const armSchema = z.object({
  n: z.int(),
  passed: z.int(),
  verdicts: z.int(),
  coverage: z.number(),
  score: z.number(),
  score_lower: z.number(),
  score_upper: z.number(),
  wilson95: z.tuple([z.number(), z.number()]),
  unparsed: z.int(),
  calls: z.int(),
  by_subtask: z.record(z.string(), z.array(z.int())).default({}),
});
const expectedSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      tasks: z.int(),
      harness: z.string(),
      no_verdict: z.array(z.tuple([z.string(), z.string()])),
      arms: z.record(z.string(), armSchema),
    }),
  ),
});

/** What is known of one of Echo's published files, in the words of Thrice. Ratios are rounded to four decimals. */
export interface EchoExpectation {
  readonly tasks: number;
  readonly harness: string;
  /** Arm and task of each row without a grade, sorted. */
  readonly unscored: readonly string[];
  readonly arms: readonly {
    readonly arm: string;
    readonly rows: number | undefined;
    readonly passed: number | undefined;
    readonly unparsed: number | undefined;
    readonly calls: number | undefined;
    /** Coverage, score, its bounds and its interval. */
    readonly ratios: readonly number[];
    /** Passed rows, rows with a grade, rows. */
    readonly bySubtask: Readonly<Record<string, readonly number[]>>;
  }[];
}

/** Reads what is known of the published files, by their names. */
export function readEchoExpectation(): ReadonlyMap<string, EchoExpectation> {
  const text = readFileSync(join(sharedDataDir, 'echo/expected.json'), 'utf8');
  const { files } = expectedSchema.parse(JSON.parse(text));
  return new Map(
    Object.entries(files).map(([name, { tasks, harness, no_verdict: unscored, arms }]) => [
      name,
      {
        tasks,
        harness,
        unscored: unscored.map(([id, arm]) => `${arm} ${id}`).toSorted(),
        arms: Object.entries(arms).map(([arm, each]) => ({
          arm,
          rows: each.n,
          passed: each.passed,
          unparsed: each.unparsed,
          calls: each.calls,
          ratios: [each.coverage, each.score, each.score_lower, each.score_upper, ...each.wilson95],
          bySubtask: each.by_subtask,
        })),
      },
    ]),
  );
}
