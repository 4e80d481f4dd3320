import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Measurement } from './bench.ts';
import {
  median,
  questionText,
  runThrice,
  startSimulatorProcess,
  writeBenchmark,
} from './bench-support.ts';

const CELLS = 20_000;
/** A run of a usual size, in which start and end count. */
const SMALL_CELLS = 6_000;
const CONCURRENCY = 64;
const ROUNDS = 3;
/** promptfoo 0.1xx over the same kind of cases at 64 concurrent, cases a second on two cores. */
const PROMPTFOO_PER_SECOND = 160;

const timeSchema = z.iso.datetime().transform((text) => Date.parse(text));
/** When a cell was begun and recorded, ms. */
const timesSchema = z.object({ startedAt: timeSchema, finishedAt: timeSchema });

/** Cells a second against a bare loop over the default `openai` client, in turn, same server. */
export async function benchThroughput(folder: string): Promise<readonly Measurement[]> {
  await using simulator = await startSimulatorProcess();
  const bare: number[] = [];
  const whole: number[] = [];
  const working: number[] = [];
  const small: number[] = [];
  const spec = await writeBenchmark(folder, {
    name: 'throughput',
    url: simulator.url,
    questionCount: CELLS,
    parallel: CONCURRENCY,
  });
  const smallSpec = await writeBenchmark(folder, {
    name: 'small',
    url: simulator.url,
    questionCount: SMALL_CELLS,
    parallel: CONCURRENCY,
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    bare.push(await runBareLoop(simulator.url));
    const store = join(folder, `throughput-${round}`);
    const run = await runThrice(['run', spec, '--dir', store]);
    whole.push(CELLS / run.seconds);
    working.push(await workingRate(store));
    const dir = join(folder, `small-${round}`);
    small.push(SMALL_CELLS / (await runThrice(['run', smallSpec, '--dir', dir])).seconds);
  }
  const ratios = (rates: readonly number[]) =>
    median(rates.map((rate, i) => rate / (bare[i] ?? 1)));
  const perSecond = `${median(whole).toFixed(0)}/s against ${median(bare).toFixed(0)}/s`;
  return [
    {
      what: `the whole command, from its start to its result files, ${CELLS} cells`,
      measured: `${ratios(whole).toFixed(2)} x a bare loop (${perSecond})`,
      budget: 'none, for comparison',
      isMet: true,
    },
    {
      what: 'throughput, results durable',
      measured: `${ratios(working).toFixed(2)} x a bare loop`,
      budget: '>= 1.5 x',
      isMet: ratios(working) >= 1.5,
    },
    {
      what: `the whole command, launcher and result files included, ${SMALL_CELLS} cells`,
      measured: `${ratios(small).toFixed(2)} x a bare loop`,
      budget: '>= 1.3 x',
      isMet: ratios(small) >= 1.3,
    },
    {
      what: 'throughput against promptfoo',
      measured: `${(median(whole) / PROMPTFOO_PER_SECOND).toFixed(1)} x its ${PROMPTFOO_PER_SECOND}/s`,
      budget: '>= 10 x',
      isMet: median(whole) >= 10 * PROMPTFOO_PER_SECOND,
    },
  ];
}

/** Cells a second from the first call to the last result, of the only run of a folder. */
async function workingRate(store: string): Promise<number> {
  const times: z.infer<typeof timesSchema>[] = [];
  for await (const file of glob(join(store, 'runs/*/*/cells/*.jsonl'))) {
    const rows = (await readFile(file, 'utf8')).trim().split('\n');
    for (const row of rows) times.push(timesSchema.parse(JSON.parse(row)));
  }
  const startedMs = times.reduce((first, row) => Math.min(first, row.startedAt), Infinity);
  const finishedMs = times.reduce((last, row) => Math.max(last, row.finishedAt), 0);
  return (times.length * 1000) / (finishedMs - startedMs);
}

async function runBareLoop(url: string): Promise<number> {
  const script = join(import.meta.dirname, 'bare-loop.ts');
  const args = [script, url, String(CELLS), String(CONCURRENCY), questionText(0)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child, 'exit');
  return Number(output);
}
