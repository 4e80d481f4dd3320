import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { endProcess, firstLine, median, runThrice, writeBenchmark } from './bench-support.ts';

const JUDGED_CELLS = 10_000;
/** As many calls, and half of the cells less. */
const PLAIN_CELLS = 2 * JUDGED_CELLS;
const CONCURRENCY = 64;
const ROUNDS = 3;

const JUDGE = `
[lanes.court]
base_url = "URL"
[prices."court/judge"]
input = 1.0
output = 1.0
[scorers.quality]
kind = "judge"
model = "court/judge"
`;

/** Calls a second of cells that a judge grades against those of cells that need none, in turn, same server. */
export async function benchJudging(folder: string): Promise<readonly Measurement[]> {
  const script = join(import.meta.dirname, 'judging-server.ts');
  const server = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await firstLine(server);
  try {
    const common = { url, parallel: CONCURRENCY };
    const plain = await writeBenchmark(folder, {
      ...common,
      name: 'plain',
      questionCount: PLAIN_CELLS,
    });
    const judged = await writeBenchmark(folder, {
      ...common,
      name: 'judged',
      questionCount: JUDGED_CELLS,
    });
    const spec = (await readFile(judged, 'utf8'))
      .replace('scorer = "numeric"', 'scorer = "quality"')
      .replace('[[configs]]', `${JUDGE.replace('URL', url)}[[configs]]`);
    await writeFile(judged, spec);
    const seconds: Record<'plain' | 'judged', number[]> = { plain: [], judged: [] };
    const peaks: Record<'plain' | 'judged', number[]> = { plain: [], judged: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, path] of [['plain', plain] as const, ['judged', judged] as const]) {
        const ran = await runThrice(['run', path, '--dir', join(folder, `${name}-${round}`)]);
        seconds[name].push(ran.seconds);
        peaks[name].push(ran.peakMegabytes);
      }
    }
    const ratio = median(seconds.plain) / median(seconds.judged);
    const peak = Math.max(...peaks.judged);
    const describe = (values: readonly number[]) => median(values).toFixed(1);
    return [
      {
        what: `${JUDGED_CELLS} judged cells against ${PLAIN_CELLS} plain ones, whole command`,
        measured: `${ratio.toFixed(2)} x (${describe(seconds.judged)} s against ${describe(seconds.plain)} s)`,
        budget: '>= 1 x',
        isMet: ratio >= 1,
      },
      {
        what: `resident memory, ${JUDGED_CELLS} judged cells`,
        measured: `${peak.toFixed(0)} MB at most (${Math.max(...peaks.plain).toFixed(0)} MB for the plain ones)`,
        budget: '<= 250 MB',
        isMet: peak <= 250,
      },
    ];
  } finally {
    await endProcess(server);
  }
}
