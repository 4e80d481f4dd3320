import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../packages/cli/src/main.ts';
import { anEchoLine, anEchoMeta, linesOf } from '../../support/echo-rows.ts';
import { callThrice, fakeTerminal } from '../../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

/** A spec with two configs, of the name under which sweeps of BIG-Bench Hard are imported. */
const spec = `name = "bbh"
questions = "questions.jsonl"
replicates = 3
[lanes.lab]
base_url = "http://127.0.0.1:9/v1"
[[configs]]
name = "haiku-only"
model = "lab/a"
[[configs]]
name = "sonnet-only"
model = "lab/b"
`;
const questions = Array.from({ length: 200 }, (_, index) =>
  JSON.stringify({ id: `q${index}`, question: `What is ${index}?`, target: [`${index}`] }),
).join('\n');
const arms = ['haiku-only', 'sonnet-only'];
const sweep = linesOf(
  anEchoMeta(),
  ...Array.from({ length: 10 }, (_, task) =>
    arms.map((arm) => {
      const passed = (task + arm.length) % 3 === 0;
      return anEchoLine({ task: `bbh/snarks/${task}`, arm, passed });
    }),
  ).flat(),
);
const file = '20260701T000922Z_bbh_n10.jsonl';

async function open(files: Readonly<Record<string, string>> = {}): Promise<TemporaryFolder> {
  return await temporaryFolder({ 'b.toml': spec, 'questions.jsonl': questions, ...files });
}

describe('thrice power', () => {
  it('says what a plan resolves by the answers of an earlier group', async () => {
    await using folder = await open({ [file]: sweep });
    const { stdout } = await callThrice(['import', 'echo', file], { cwd: folder.path });
    const [group = ''] = stdout.split('\n');

    const shown = await callThrice(['power', 'b.toml', '--pilot', group], { cwd: folder.path });

    expect(shown.exitCode).toBe(0);
    expect(shown.stdout).toMatch(/haiku-only +sonnet-only +the plan +200 +3 +\d+\.\d +1200/);
    expect(shown.stdout).toContain(`scores vary as over 10 questions of ${group}`);
  });

  it('counts the questions that both configs of a pair ask, each of which may select its own', async () => {
    const names = ['head', 'tail', 'every'];
    const selects = ['select = { limit = 120 }', 'select = { start = 100 }', ''];
    const configs = names.map(
      (name, index) => `[[configs]]\nname = "${name}"\nmodel = "lab/a"\n${selects[index]}\n`,
    );
    const lane = spec.slice(0, spec.indexOf('[[configs]]'));
    await using folder = await open({ 'selects.toml': `${lane}${configs.join('')}` });

    const argv = ['power', 'selects.toml', '--json'];
    const { stdout } = await callThrice(argv, { cwd: folder.path });

    const { pairs } = JSON.parse(stdout) as {
      pairs: { a: string; b: string; questions: number }[];
    };
    expect(pairs.map(({ a, b, questions: count }) => [a, b, count])).toEqual([
      ['head', 'tail', 20],
      ['head', 'every', 120],
      ['tail', 'every', 100],
    ]);
  });

  it('assumes what is usual where there is no group, and says so', async () => {
    await using folder = await open();

    const { stdout, exitCode } = await callThrice(['power', 'b.toml'], { cwd: folder.path });

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/the plan +200 +3 +14\.1 +1200/);
    expect(stdout).toContain('no group of bbh has answers: assumed are scores');
  });

  it('says how a pilot is run, as it is typed, and in a line of its own', async () => {
    await using folder = await open();
    const argv = ['power', 'b.toml', '--dir', 'groups'];
    const terminal = fakeTerminal({
      ...{ workingFolder: folder.path, commandLine: argv },
      ...{ printColumns: 60, commandName: 'npx --no thrice' },
    });

    await runCommand(argv, terminal);

    expect(terminal.stdout).toContain(
      '\na pilot says more:\n  npx --no thrice run b.toml --limit 50 --dir groups\n',
    );
  });

  it('refuses a spec with one config, and a group that is not there', async () => {
    await using folder = await open();
    await writeFile(folder.resolve('one.toml'), spec.slice(0, spec.lastIndexOf('[[configs]]')));

    const one = await callThrice(['power', 'one.toml'], { cwd: folder.path });
    const missing = await callThrice(['power', 'b.toml', '--pilot', 'x'], { cwd: folder.path });

    expect([one.exitCode, missing.exitCode]).toEqual([64, 64]);
    expect(one.stderr).toContain('one.toml: expected two configs to compare, received 1');
  });
});
