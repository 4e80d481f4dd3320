import { readFile } from 'node:fs/promises';
import type { CellRow, Summary } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { readFiles } from '../support/folder-files.ts';
import { aCompletion, sendJson, startHttpServer } from '../support/http-server.ts';
import { callThrice, groupOf, type Outcome } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const QUESTION_COUNT = 20;
const WHY = 'what the filter refuses, users do not get';

/** A folder with a finished group of 20 questions, of which the vendor filters every fifth. */
async function finished(top = '') {
  const server = await startHttpServer((response, { body }) => {
    const number = Number(/What is (\d+)/.exec(JSON.stringify(body))?.[1]);
    if (number % 5 !== 0) {
      sendJson(response, aCompletion({ content: 'It is 42' }, { model: 'a' }));
      return;
    }
    const message = 'The response was filtered.';
    sendJson(response, { error: { message, code: 'content_filter' } }, { status: 400 });
  });
  const files = smallBenchmark({ url: server.url, questionCount: QUESTION_COUNT, top });
  const folder = await temporaryFolder(files);
  const ran = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });
  const group = groupOf({ stdout: ran.stdout });
  const results = folder.resolve('.thrice/runs', group);
  const run = async (...argv: readonly string[]): Promise<Outcome> =>
    await callThrice(argv, { cwd: folder.path });
  const read = async (name: string) => await readFile(`${results}/${name}`, 'utf8');
  return {
    ...{ ran, group, folder: results, run, read },
    rule: async (name: string, as: string, why = WHY) =>
      await run('rule', group, '--class', name, '--as', as, '--why', why),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

describe('thrice rule', () => {
  it('counts filtered cells as wrong, marks it wherever the figures are shown, and is taken back', async () => {
    await using done = await finished();
    const { group, run, read, rule } = done;
    const [cells, summary] = [await read(`${group}-r1/cells/a.jsonl`), await read('summary.json')];

    const ruled = await rule('content-filtered', 'wrong');
    const rows = (await read(`${group}-r1/cells/a.jsonl`)).trimEnd().split('\n');
    const status = await run('status', group);
    const shown = await run('show', `${group}-r1`, 'a', 'q5');
    const verified = await run('verify', group);
    const back = await rule('content-filtered', 'missing', 'the filter is off by now');

    expect(done.ran.exitCode).toBe(1);
    expect(ruled.exitCode).toBe(0);
    const note = `a: 4 cells counted as wrong by the ruling on content-filtered: ${WHY}`;
    expect(ruled.stdout).toContain('80.0*');
    expect(ruled.stdout).toContain('4 wrong');
    expect(ruled.stdout).toContain(note);
    expect(status.stdout).toContain(note);
    expect(shown.stdout).toContain('counted as wrong by the ruling on content-filtered');
    expect(rows.map((row) => (JSON.parse(row) as CellRow).ruling?.as ?? null)).toEqual(
      Array.from({ length: QUESTION_COUNT }, (_, index) =>
        (index + 1) % 5 === 0 ? 'wrong' : null,
      ),
    );
    expect(verified.exitCode).toBe(0);
    expect(back.exitCode).toBe(1);
    expect(await read(`${group}-r1/cells/a.jsonl`)).toBe(cells);
    expect(await read('summary.json')).toBe(summary);
  });

  it.each([
    [
      'an unknown class',
      ['--class', 'content-filter', '--as', 'wrong', '--why', WHY],
      '"content-filtered"',
    ],
    ['another way to count', ['--class', 'rejected', '--as', 'right', '--why', WHY], '--as'],
    ['an empty reason', ['--class', 'rejected', '--as', 'wrong', '--why', ' '], '--why'],
    ['no reason', ['--class', 'rejected', '--as', 'wrong'], '--why'],
  ])('refuses %s and changes nothing', async (_, options, said) => {
    await using done = await finished();
    const before = await readFiles(done.folder);

    const refused = await done.run('rule', done.group, ...options);
    const unknown = await done.run(
      'rule',
      'nobody',
      '--class',
      'rejected',
      '--as',
      'wrong',
      '--why',
      WHY,
    );

    expect([refused.exitCode, unknown.exitCode]).toEqual([64, 64]);
    expect(refused.stderr).toContain(said);
    expect(await readFiles(done.folder)).toEqual(before);
  });
});

describe('rulings of a spec', () => {
  const rulings = 'rulings = { content-filtered = "excluded" }\n';

  it('count from the first result on, and end a run with 0 whose other cells all have a score', async () => {
    await using done = await finished(rulings);
    const { configs, ...summary } = JSON.parse(await done.read('summary.json')) as Summary;

    const verified = await done.run('verify', done.group);

    expect(done.ran.exitCode).toBe(0);
    expect(summary.rulings).toMatchObject([
      { class: 'content-filtered', as: 'excluded', why: 'stated in the spec' },
    ]);
    expect(configs[0]?.replicates).toMatchObject([
      { questions: 20, scored: 16, failed: 4, ruledExcluded: 4, coverage: 1, headline: 1 },
    ]);
    expect(verified.exitCode).toBe(0);
  });

  it('give way to one of a command', async () => {
    await using done = await finished(rulings);

    const { exitCode } = await done.rule('content-filtered', 'missing');

    const { configs, rulings: left } = JSON.parse(await done.read('summary.json')) as Summary;
    expect(exitCode).toBe(1);
    expect(left).toBeUndefined();
    expect(configs[0]?.replicates).toMatchObject([{ ruledExcluded: 0, coverage: 0.8 }]);
  });
});
