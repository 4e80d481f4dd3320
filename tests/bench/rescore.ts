import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';
import { runThrice, startSimulatorProcess, writeBenchmark } from './bench-support.ts';

const CELLS = 100_000;

/** Time and memory of grading many answers again, and of verifying and summarizing them. */
export async function benchRescore(folder: string): Promise<readonly Measurement[]> {
  const name = 'rescore';
  const dir = join(folder, `${name}-runs`);
  const spec = await runOnce(folder, name, dir);
  const edited = join(folder, `${name}-edited.toml`);
  const text = await readFile(spec, 'utf8');
  await writeFile(
    edited,
    `${text.replace('"numeric"', '"stated"')}[scorers.stated]\nkind = "regex"\npattern = "([0-9]+)"\n`,
  );
  const untouched = join(folder, `${name}-untouched`);
  await cp(dir, untouched, { recursive: true });
  const at = ['--dir', dir];
  const measurements: Measurement[] = [];
  // The model server is gone: a call would fail.
  for (const [what, budget, args] of [
    ['rescore', 250, ['rescore', name, '--spec', edited, ...at]],
    ['verify, two gradings', 250, ['verify', name, ...at]],
    ['summarize', 400, ['summarize', name, ...at]],
  ] as const) {
    const { seconds, peakMegabytes } = await runThrice(args);
    measurements.push({
      what: `${what} of ${CELLS} cells`,
      measured: `${seconds.toFixed(1)} s, ${peakMegabytes.toFixed(0)} MB`,
      budget: `<= ${budget} MB`,
      isMet: peakMegabytes <= budget,
    });
  }
  return [...measurements, ...(await benchUserCode({ folder, name, spec, untouched }))];
}

/** A file and a command of a user against the built-in scorer that does the same, each on the same answers. */
async function benchUserCode({
  folder,
  name,
  spec,
  untouched,
}: {
  readonly folder: string;
  readonly name: string;
  readonly spec: string;
  /** The runs before any rescore. */
  readonly untouched: string;
}): Promise<readonly Measurement[]> {
  await writeFile(
    join(folder, 'own.ts'),
    `export default {
      version: 1,
      score: ({ answer, target }) => ({ score: target.some((each) => answer.toLowerCase().includes(each.toLowerCase())) }),
    };`,
  );
  await writeFile(
    join(folder, 'own.py'),
    `import json, sys
for line in sys.stdin:
    row = json.loads(line)
    score = any(each.lower() in row["answer"].lower() for each in row["target"])
    print(json.dumps({"id": row["id"], "score": score}))`,
  );
  const command = '[scorers.own]\ncommand = ["python3", "own.py"]\n';
  const text = `${await readFile(spec, 'utf8')}${command}`;
  const seconds: number[] = [];
  for (const scorer of ['includes', './own.ts', 'own']) {
    const dir = join(folder, `${name}-${seconds.length}`);
    const edited = join(folder, `${name}-${seconds.length}.toml`);
    await cp(untouched, dir, { recursive: true });
    await writeFile(edited, text.replace('"numeric"', `"${scorer}"`));
    seconds.push((await runThrice(['rescore', name, '--spec', edited, '--dir', dir])).seconds);
  }
  const [builtIn = 0, own = 0, python = 0] = seconds;
  return [
    {
      what: `rescore of ${CELLS} cells by a TypeScript file, against the built-in scorer`,
      measured: `${own.toFixed(1)} s, ${builtIn.toFixed(1)} s: ${(own / builtIn).toFixed(2)} x`,
      budget: '<= 2 x',
      isMet: own <= 2 * builtIn,
    },
    {
      what: `rescore of ${CELLS} cells by a Python command`,
      measured: `${python.toFixed(1)} s`,
      budget: '<= 60 s',
      isMet: python <= 60,
    },
  ];
}

async function runOnce(folder: string, name: string, dir: string): Promise<string> {
  await using simulator = await startSimulatorProcess();
  const { url } = simulator;
  const spec = await writeBenchmark(folder, { name, url, questionCount: CELLS, parallel: 64 });
  await runThrice(['run', spec, '--dir', dir]);
  return spec;
}
