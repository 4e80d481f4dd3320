import { once } from 'node:events';
import { join } from 'node:path';
import { openDatabase } from '../../packages/local/src/store/open-database.ts';
import { aCall, aCellResult, aJournalEntry } from '../support/builders.ts';
import type { Measurement } from './bench.ts';
import {
  firstLine,
  residentMegabytes,
  runThrice,
  startThrice,
  writeBenchmark,
} from './bench-support.ts';

const QUESTIONS = 100_000;
const REPLICATES = 10;
const CELLS = QUESTIONS * REPLICATES;
const MAX_MEGABYTES = 250;

/** Planning of a million cells, from the start of the command to its last task, and publishing their results. */
export async function benchPlanning(folder: string): Promise<readonly Measurement[]> {
  const spec = await writeBenchmark(folder, {
    name: 'planning',
    // Nobody listens there: planning sends nothing.
    url: 'http://127.0.0.1:9/v1',
    questionCount: QUESTIONS,
    parallel: 1,
    replicates: REPLICATES,
  });
  const dir = join(folder, 'planning-runs');
  const startedMs = performance.now();
  const child = startThrice(['run', spec, '--detach', '--dir', dir]);
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentMegabytes(child));
  }, 50);
  const group = await firstLine(child);
  // The command returns once the last task is in the queue.
  if (child.exitCode === null) await once(child, 'exit');
  clearInterval(sampling);
  const seconds = (performance.now() - startedMs) / 1000;
  await runThrice(['cancel', group, '--dir', dir]);

  finishEveryCell(join(dir, 'thrice.db'));
  const published = await runThrice(['resume', group, '--dir', dir]);
  const count = CELLS.toLocaleString('en');
  return [
    {
      what: `planning ${count} cells`,
      measured: `${seconds.toFixed(1)} s, ${peak.toFixed(0)} MB at most`,
      budget: '<= 15 s, flat memory',
      isMet: seconds <= 15 && peak <= MAX_MEGABYTES,
    },
    {
      what: `publishing the results of ${count} cells`,
      measured: `${published.seconds.toFixed(1)} s, ${published.peakMegabytes.toFixed(0)} MB at most`,
      budget: '<= 60 s, flat memory',
      isMet: published.seconds <= 60 && published.peakMegabytes <= MAX_MEGABYTES,
    },
  ];
}

/** Gives every task in a database the result that its work would have. */
function finishEveryCell(file: string): void {
  const database = openDatabase(file);
  const result = aCellResult({ calls: [aCall()] });
  const entry = aJournalEntry();
  database
    .prepare(
      `INSERT OR REPLACE INTO cells (run, config, id, state, generation, lease_until, attempts, outcome, result)
       SELECT run, config, id, 'done', 0, 0, 1, ?, ? FROM tasks`,
    )
    .run(result.outcome, JSON.stringify(result));
  database
    .prepare(
      'INSERT OR REPLACE INTO calls (run, config, id, step, entry) SELECT run, config, id, ?, ? FROM tasks',
    )
    .run(entry.step, JSON.stringify(entry));
  database.exec('DELETE FROM tasks');
  database.close();
}
