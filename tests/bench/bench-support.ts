import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const thriceBin = resolve(import.meta.dirname, '../../packages/cli/bin/thrice.js');

/** The heap flags of the working commands. */
export const heapFlags = ['--max-semi-space-size=8', '--heap-growing-percent=100'] as const;

/** The middle value. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** A simulator in a process of its own: a provider does not share our processor time. */
export interface SimulatorProcess extends AsyncDisposable {
  readonly url: string;
  readonly child: ChildProcess;
}

/** Starts `thrice simulate`. */
export async function startSimulatorProcess(
  args: readonly string[] = [],
): Promise<SimulatorProcess> {
  const child = startThrice(['simulate', ...args]);
  const url = await firstLine(child);
  return {
    url,
    child,
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

/** Starts the command. */
export function startThrice(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [thriceBin, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The first line a process prints. */
export async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('expected a pipe on stdout');
  for await (const line of createInterface(child.stdout)) return line;
  throw new Error('the process ended without a line');
}

/** Runs the command to its end; wall seconds, and everything it wrote to stderr. */
export async function runThrice(
  args: readonly string[],
): Promise<{ readonly seconds: number; readonly log: string; readonly peakMegabytes: number }> {
  const startedMs = performance.now();
  const child = startThrice(args);
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  child.stdout?.resume();
  let peakMegabytes = 0;
  const sampling = setInterval(() => {
    peakMegabytes = Math.max(peakMegabytes, residentMegabytes(child));
  }, 100);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearInterval(sampling);
  if (code !== 0) throw new Error(`thrice ${args.join(' ')} exited with ${code}:\n${log}`);
  return { seconds: (performance.now() - startedMs) / 1000, log, peakMegabytes };
}

/** Resident memory of a process now, MB; 0 once it has ended. */
export function residentMegabytes({ pid }: ChildProcess): number {
  try {
    const status = readFileSync(`/proc/${pid ?? 0}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Ends a process and waits for it. */
export async function endProcess(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGINT',
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** Writes a benchmark of so many questions against one endpoint; returns the spec's path. */
export async function writeBenchmark(
  folder: string,
  {
    name,
    url,
    questionCount,
    parallel,
    replicates = 1,
  }: {
    readonly name: string;
    readonly url: string;
    readonly questionCount: number;
    readonly parallel: number;
    readonly replicates?: number;
  },
): Promise<string> {
  await writeFile(join(folder, `${name}.jsonl`), questionLines(questionCount));
  const spec = [
    `questions = "${name}.jsonl"`,
    `parallel = ${parallel}`,
    `replicates = ${replicates}`,
    '[lanes.lab]',
    `base_url = "${url}"`,
    '[prices."lab/model"]',
    'input = 1.0',
    'output = 1.0',
    '[[configs]]',
    'name = "model"',
    'model = "lab/model"',
    'scorer = "numeric"',
  ];
  const path = join(folder, `${name}.toml`);
  await writeFile(path, `${spec.join('\n')}\n`);
  return path;
}

/** The lines of a question file. */
export function questionLines(count: number): string {
  return Array.from({ length: count }, (_, index) => {
    const row = { id: `q${index}`, question: questionText(index), target: '42' };
    return `${JSON.stringify(row)}\n`;
  }).join('');
}

/** About 500 characters, as a short exam question has. */
export function questionText(index: number): string {
  return `${'What is the answer to everything, in one number? '.repeat(10)}(${index})`;
}
