import type { ResultFormat } from '../result-format.ts';
import { checkEchoTargets } from './check-echo-targets.ts';
import { echoRowSchema } from './echo-row.ts';
import { gradeEchoRow } from './grade-echo-row.ts';
import { readEcho } from './read-echo.ts';
import { viewEcho } from './view-echo.ts';
import { writeEcho } from './write-echo.ts';

/**
 * The result files of Echo, which compares arms (ways to route between models) on tasks: JSONL, one row for each task
 * and arm.
 *
 * @see https://github.com/enspyrco/echo (`experiment/results`, commit cf7580c)
 */
export const echoFormat: ResultFormat = {
  name: 'echo',
  version: 1,
  read: readEcho,
  dataset: { name: 'bbh', checkTargets: checkEchoTargets },
  grade: ({ row }, error) => {
    const { data } = echoRowSchema.safeParse(row);
    return data && gradeEchoRow(data, error);
  },
  write: writeEcho,
  view: viewEcho,
};
