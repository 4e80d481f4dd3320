import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import type { Measurement } from './bench.ts';
import { heapFlags, median, questionLines } from './bench-support.ts';

const CELLS = 20_000;
const CONCURRENCY = 64;
const ROUNDS = 3;
const BUDGET_US = 120;

const stagesSchema = z.object({ plan: z.number(), work: z.number(), publish: z.number() });

/** Processor time of Thrice itself, per cell: a model that answers at once, in the same process, without HTTP. */
export async function benchOwnCpu(folder: string): Promise<readonly Measurement[]> {
  const questions = join(folder, 'own-cpu.jsonl');
  await writeFile(questions, questionLines(CELLS));
  const script = join(import.meta.dirname, 'own-cpu-run.ts');
  const rounds: z.infer<typeof stagesSchema>[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const data = join(folder, `own-cpu-${round}`);
    const args = [...heapFlags, script, data, questions, String(CONCURRENCY)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    rounds.push(stagesSchema.parse(JSON.parse(stdout)));
  }
  const [plan, work, publish] = (['plan', 'work', 'publish'] as const).map((stage) =>
    median(rounds.map((stages) => stages[stage])),
  );
  return [
    {
      what: `own processor time per cell in the work loop, without HTTP, ${CELLS} cells`,
      measured: `${work?.toFixed(0)} µs (planning ${plan?.toFixed(0)}, publishing ${publish?.toFixed(0)})`,
      budget: `<= ${BUDGET_US} µs`,
      isMet: (work ?? Number.NaN) <= BUDGET_US,
    },
  ];
}
