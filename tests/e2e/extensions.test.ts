import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCellRows } from '../support/cell-rows.ts';
import type { HttpServer } from '../support/http-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startToyServer, summarizeToy, toyQuestions } from '../support/toy-benchmark.ts';
import { waitUntil } from '../support/wait-until.ts';

const SCRIPT = join(import.meta.dirname, '../fixtures/toy/run-locally.ts');
const QUESTION_COUNT = 60;
const PARALLEL = 8;

/** Runs the toy benchmark in a process of its own; killed once so many requests have come. */
async function runLocally(
  folder: string,
  server: HttpServer,
  killAt = Number.POSITIVE_INFINITY,
): Promise<{
  readonly stdout: string;
  readonly exitCode: number | null;
  readonly wasKilled: boolean;
}> {
  const child = spawn(process.execPath, [SCRIPT, folder, server.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const closed = once(child, 'close');
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  if (Number.isFinite(killAt)) {
    await waitUntil('enough was asked', () => server.requests.length >= killAt || isOver());
    child.kill('SIGKILL');
  }
  await closed;
  return { stdout, exitCode: child.exitCode, wasKilled: child.signalCode === 'SIGKILL' };
}

describe('a solver and a scorer that do not come with Thrice', () => {
  it('survive kill -9 on one machine: no recorded step is asked for again', async () => {
    await using server = await startToyServer();
    await using folder = await temporaryFolder({
      'questions.jsonl': toyQuestions(QUESTION_COUNT),
    });

    let killCount = 0;
    for (const killAt of [3, 11, 30, 55, 90]) {
      const { wasKilled } = await runLocally(folder.path, server, killAt);
      killCount += wasKilled ? 1 : 0;
    }
    const { stdout, exitCode } = await runLocally(folder.path, server);

    const rows = await readCellRows(folder.resolve('.thrice'), stdout.trim(), 'toy');
    expect(summarizeToy(rows)).toEqual({ rows: QUESTION_COUNT, whole: QUESTION_COUNT });
    expect(exitCode).toBe(0);
    expect(killCount).toBe(5);
    expect(server.counts.size).toBe(2 * QUESTION_COUNT);
    const again = server.requests.length - 2 * QUESTION_COUNT;
    expect(again).toBeLessThanOrEqual(killCount * PARALLEL);
  });
});
