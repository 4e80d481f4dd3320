import { readFile, writeFile } from 'node:fs/promises';
import { type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { callThrice, groupOf, type Outcome } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const SPEC = 'benchmark.toml';
const PRICES = '[prices."lab/a"]\ninput = 1\noutput = 2\n';

/** A finished group of one config and four questions, whose spec can be edited. */
class Edited implements AsyncDisposable {
  readonly group: string;
  readonly #folder: TemporaryFolder;
  readonly #simulator: Simulator;

  constructor(group: string, folder: TemporaryFolder, simulator: Simulator) {
    this.group = group;
    this.#folder = folder;
    this.#simulator = simulator;
  }

  static async finished(options: readonly string[] = []): Promise<Edited> {
    const simulator = await startSimulator();
    const folder = await temporaryFolder(smallBenchmark({ url: simulator.url }));
    const argv = ['run', SPEC, '--label', 'trial', ...options];
    const { exitCode, stdout } = await callThrice(argv, { cwd: folder.path });
    expect(exitCode).toBe(0);
    return new Edited(groupOf({ stdout }), folder, simulator);
  }

  /** Edits a file of the benchmark. */
  async edit(change: (text: string) => string, file = SPEC): Promise<void> {
    const path = this.#folder.resolve(file);
    await writeFile(path, change(await readFile(path, 'utf8')));
  }

  async call(...argv: readonly string[]): Promise<Outcome> {
    const outcome = await callThrice(argv, { cwd: this.#folder.path });
    return { ...outcome, stderr: outcome.stderr.replaceAll(this.#folder.path, '<folder>') };
  }

  async resume(...options: readonly string[]): Promise<Outcome> {
    return await this.call('resume', this.group, '--spec', SPEC, ...options);
  }

  /** The lines about edits, and how often models were asked in all. */
  async edits(...options: readonly string[]) {
    const { exitCode, stderr } = await this.resume(...options);
    expect((await this.call('verify', this.group)).stdout).toContain('all numbers match');
    return {
      exitCode,
      edits: stderr.split('\n').filter((line) => line.startsWith('edited: ')),
      requestCount: this.#simulator.stats().requestCount,
    };
  }

  async summary() {
    const { stdout } = await this.call('summarize', this.group, '--json');
    return JSON.parse(stdout) as {
      readonly configs: readonly {
        readonly config: string;
        readonly replicates: readonly Readonly<Record<string, number | null>>[];
      }[];
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
    await this.#simulator.close();
  }
}

describe('an edited spec', () => {
  it('does not strand its group when only comments differ', async () => {
    await using edited = await Edited.finished();
    await edited.edit((text) => `# Better now.\n${text}`);

    expect((await edited.call('resume', edited.group)).exitCode).toBe(0);
    expect(await edited.edits()).toEqual({ exitCode: 0, edits: [], requestCount: 4 });
  });

  it('asks only what is added: questions, configs and replicates', async () => {
    await using edited = await Edited.finished();
    const more =
      '{"id": "new", "question": "What is 9 and what is missing to 42?", "target": "42"}';
    await edited.edit((text) => `${more}\n${text}`, 'questions.jsonl');
    await edited.edit(
      (text) =>
        `replicates = 2\n${text}\n[[configs]]\nname = "b"\nmodel = "lab/b"\nscorer = "includes"\n`,
    );

    const { exitCode, edits, requestCount } = await edited.edits();

    expect(exitCode).toBe(0);
    expect(edits).toContain('edited: replicates: was 1, is 2');
    expect(edits).toContain('edited: questions: was 4 questions, is 5 questions');
    expect(requestCount).toBe(2 * 2 * 5);
    expect((await edited.summary()).configs).toMatchObject([
      {
        config: 'a',
        replicates: [
          { questions: 5, scored: 5 },
          { questions: 5, scored: 5 },
        ],
      },
      {
        config: 'b',
        replicates: [
          { questions: 5, scored: 5 },
          { questions: 5, scored: 5 },
        ],
      },
    ]);
  });

  it('prices and grades what was answered before', async () => {
    await using edited = await Edited.finished();
    await edited.edit(
      (text) =>
        `timeout_s = 300\nparallel = 2\n${text.replace('"includes"', '"strict"')}\n${PRICES}[scorers.strict]\nkind = "regex"\npattern = "4(2)"\n`,
    );

    const { exitCode, edits, requestCount } = await edited.edits();

    expect([exitCode, requestCount]).toEqual([0, 4]);
    expect(edits).toEqual([
      'edited: parallel: was 64, is 2',
      'edited: timeout_s: was 120, is 300',
      'edited: configs.a.scorer: was "includes", is "strict"',
      'edited: prices.lab/a.input: was nothing, is 1',
      'edited: prices.lab/a.output: was nothing, is 2',
      'edited: scorers.strict.kind: was nothing, is "regex"',
      'edited: scorers.strict.pattern: was nothing, is "4(2)"',
      'edited: scorers.strict.match: was nothing, is "first"',
    ]);
    const [config] = (await edited.summary()).configs;
    expect(config?.replicates).toMatchObject([{ scored: 4, correct: 0 }]);
    expect(config?.replicates[0]?.['costUsd']).toBeGreaterThan(0);
  });

  it('takes more of the questions than a trial did', async () => {
    await using edited = await Edited.finished(['--limit', '2']);

    const same = await edited.edits();
    const whole = await edited.edits('--limit', '3');

    expect(same).toEqual({ exitCode: 0, edits: [], requestCount: 2 });
    expect(whole.requestCount).toBe(3);
    expect(whole.edits).toContain('edited: select.limit: was 2, is 3');
  });

  it('is refused where it would change what was answered, with the list of it', async () => {
    await using edited = await Edited.finished();
    await edited.edit((text) =>
      text.replace('model = "lab/a"', 'model = "lab/b"\ntemperature = 1\nsystem = "Be brief."'),
    );
    await edited.edit(
      (text) => text.replace('What is 2', 'What is two').replace(/\{"id":"q4".*\n/, ''),
      'questions.jsonl',
    );

    const { exitCode, stderr } = await edited.resume();

    expect(exitCode).toBe(64);
    expect(stderr.split('\n')).toEqual([
      'thrice: [spec-changed] <folder>/benchmark.toml: configs.a.model: was "lab/a", is "lab/b"',
      'thrice: [spec-changed] <folder>/benchmark.toml: configs.a.system: was nothing, is a text of 9 characters',
      'thrice: [spec-changed] <folder>/benchmark.toml: configs.a.temperature: was nothing, is 1',
      'thrice: [spec-changed] <folder>/benchmark.toml: question "q4": was asked, is missing',
      'thrice: [spec-changed] <folder>/benchmark.toml: question "q2": question: was 38 characters, is 40 characters',
      `thrice: [spec-changed] ${edited.group} has answers that this would change or drop; undo it, or add it as a config or question of another name, or start a new group`,
      '',
    ]);
    expect((await edited.call('verify', edited.group)).exitCode).toBe(0);
  });
});
