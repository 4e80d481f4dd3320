import { readFile, writeFile } from 'node:fs/promises';
import type { CellRow, Summary } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { readCellRows } from '../support/cell-rows.ts';
import { aCompletion, type HttpServer, sendJson, startHttpServer } from '../support/http-server.ts';
import { callThrice, groupOf, type Outcome } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const QUESTION_COUNT = 12;

/** Answers every question, and as the model `judge` says of an answer what it is told to, the first time and later. */
async function startModels(verdictOf: (asked: number) => string): Promise<HttpServer> {
  const asked = new Map<string, number>();
  return await startHttpServer((response, { body }) => {
    const model = modelOf(body);
    if (model === 'absent') return sendJson(response, unknownModel, { status: 404 });
    const isJudge = model === 'judge';
    const question = /What is (\d+)/.exec(JSON.stringify(body))?.[1] ?? '';
    if (isJudge) asked.set(question, (asked.get(question) ?? 0) + 1);
    const isComparison = JSON.stringify(body).includes('better: first or second');
    const verdict = isComparison ? 'better: first' : verdictOf(asked.get(question) ?? 0);
    const content = isJudge ? verdict : 'It is 42';
    const usage = { prompt_tokens: 100, completion_tokens: 10 };
    sendJson(response, aCompletion({ content }, { model, usage }));
  });
}

const unknownModel = {
  error: {
    message: 'The model `absent` does not exist or you do not have access to it.',
    type: 'invalid_request_error',
    code: 'model_not_found',
  },
};

function modelOf(body: unknown): string {
  return String((body as { readonly model?: unknown } | undefined)?.model);
}

class JudgedFolder implements AsyncDisposable {
  readonly #server: HttpServer;
  readonly #folder: TemporaryFolder;
  group = '';

  constructor(server: HttpServer, folder: TemporaryFolder) {
    this.#server = server;
    this.#folder = folder;
  }

  async thrice(
    ...parameters: readonly string[]
  ): Promise<Pick<Outcome, 'exitCode' | 'stdout' | 'stderr'>> {
    const { exitCode, stdout, stderr } = await callThrice(parameters, { cwd: this.#folder.path });
    if (parameters[0] === 'run') this.group = groupOf({ stdout });
    return { exitCode, stdout, stderr };
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.#folder.resolve(name), text);
  }

  get spec(): string {
    return this.#folder.resolve('benchmark.toml');
  }

  asked(model: string): number {
    return this.#server.requests.filter(({ body }) => modelOf(body) === model).length;
  }

  async rows(): Promise<readonly CellRow[]> {
    return await readCellRows(this.#folder.resolve('.thrice'), this.group, 'a');
  }

  /** The files that say how the group is graded, and by whom. */
  async plan(): Promise<readonly (string | undefined)[]> {
    const files = ['group.json', 'gradings.json', 'summary.json'].map((name) =>
      this.#folder.resolve('.thrice', 'runs', this.group, name),
    );
    return await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => undefined)));
  }

  async replicate(): Promise<Summary['configs'][number]['replicates'][number] | undefined> {
    const path = this.#folder.resolve('.thrice', 'runs', this.group, 'summary.json');
    const { configs } = JSON.parse(await readFile(path, 'utf8')) as Summary;
    return configs[0]?.replicates[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

/** A folder with a benchmark of one config, which is graded by `includes`, and a spec in which a judge grades it. */
async function openFolder(
  verdictOf: (asked: number) => string = () => 'correct: yes',
  configs: readonly string[] = ['a'],
): Promise<JudgedFolder> {
  const server = await startModels(verdictOf);
  const more = [
    ...['[prices."lab/a"]', 'input = 1.0', 'output = 1.0'],
    ...['[prices."lab/judge"]', 'input = 10.0', 'output = 10.0'],
    ...['[prices."lab/absent"]', 'input = 10.0', 'output = 10.0'],
    ...['[scorers.quality]', 'kind = "judge"', 'model = "lab/judge"', 'max_tokens = 100'],
    ...['[scorers.gone]', 'kind = "judge"', 'model = "lab/absent"', 'max_tokens = 100'],
    ...['[lanes.keyed]', `base_url = "${server.url}"`, 'api_key_env = "THRICE_TEST_UNSET_KEY"'],
  ].join('\n');
  const files = smallBenchmark({ url: server.url, questionCount: QUESTION_COUNT, configs, more });
  const judged = files['benchmark.toml'].replaceAll('scorer = "includes"', 'scorer = "quality"');
  const gold = [true, false].map((correct, index) => ({
    id: `q${index + 1}`,
    config: 'a',
    correct,
  }));
  const lines = gold.map((row) => `${JSON.stringify(row)}\n`).join('');
  const all = { ...files, 'judged.toml': judged, 'gold.jsonl': lines };
  return new JudgedFolder(server, await temporaryFolder(all));
}

describe('thrice judge', () => {
  it('judges the answers of a finished group, and back again for nothing', async () => {
    await using folder = await openFolder();
    await folder.thrice('run', 'benchmark.toml');

    const judged = await folder.thrice('judge', folder.group, '--scorer', 'quality');
    const afterJudging = await folder.replicate();
    const back = await folder.thrice('rescore', folder.group, '--spec', 'benchmark.toml');
    const again = await folder.thrice('judge', folder.group, '--scorer', 'quality');
    const verified = await folder.thrice('verify', folder.group);

    expect([judged, back, again, verified].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
    expect([folder.asked('a'), folder.asked('judge')]).toEqual([QUESTION_COUNT, QUESTION_COUNT]);
    expect(afterJudging).toMatchObject({ scored: QUESTION_COUNT, score: 1 });
    // 110 tokens at 10 USD a million.
    expect(afterJudging?.overheadUsd).toBeCloseTo(QUESTION_COUNT * 0.0011, 9);
  });

  it('keeps what earlier judges were paid in the rows of a grading that asks none', async () => {
    await using folder = await openFolder();
    await folder.thrice('run', 'judged.toml');

    await folder.thrice('rescore', folder.group, '--spec', 'benchmark.toml');

    const rows = await folder.rows();
    expect(rows.map(({ grading, calls }) => [grading.scorer, calls.length])).toEqual(
      rows.map(() => ['includes', 2]),
    );
    expect((await folder.replicate())?.overheadUsd).toBeCloseTo(QUESTION_COUNT * 0.0011, 9);
    expect((await folder.thrice('verify', folder.group)).exitCode).toBe(0);
  });

  it('asks another judge, or more of them, in the next grading', async () => {
    await using folder = await openFolder((asked) => `correct: ${asked < 2 ? 'no' : 'yes'}`);
    await folder.thrice('run', 'judged.toml');
    const first = await folder.replicate();

    const { exitCode, stderr } = await folder.thrice('judge', folder.group, '--replicates', '3');

    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      'edited: configs.a.scorer: was lab/judge, is lab/judge, 3 times each\n',
    );
    expect(first?.score).toBe(0);
    // The first verdict on each answer, which was bought already, is no; the second and third are yes.
    expect(await folder.replicate()).toMatchObject({ scored: QUESTION_COUNT, score: 1 });
    expect([folder.asked('a'), folder.asked('judge')]).toEqual([
      QUESTION_COUNT,
      3 * QUESTION_COUNT,
    ]);
  });

  it('leaves what a rescore cannot grade without a judge ungraded, and says what judges it', async () => {
    await using folder = await openFolder();
    await folder.thrice('run', 'benchmark.toml');

    const { exitCode, stderr } = await folder.thrice(
      'rescore',
      folder.group,
      '--spec',
      'judged.toml',
    );

    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${QUESTION_COUNT} x awaiting-judge`);
    expect(stderr).toContain(`judge ${folder.group}`);
    expect(folder.asked('judge')).toBe(0);
    expect((await folder.rows()).map(({ outcome, output }) => [outcome, output])).toEqual(
      Array.from({ length: QUESTION_COUNT }, () => ['ungraded', 'It is 42']),
    );
    expect((await folder.thrice('judge', folder.group)).exitCode).toBe(0);
    expect((await folder.replicate())?.scored).toBe(QUESTION_COUNT);
  });

  it('finds out what moves the judge, and says so where its figures are', async () => {
    await using folder = await openFolder(undefined, ['a', 'b']);
    await folder.thrice('run', 'judged.toml');

    const { exitCode, stderr, stdout } = await folder.thrice('judge', folder.group, '--probe');

    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    expect(stderr).toContain('edited: configs.a.probes: was nothing, is all\n');
    // It says yes to everything, also to nothing.
    expect(stdout).toContain('a: its judge is moved by the probe "empty"');
    expect(stdout).toContain('a: its judge goes by the order of two answers: it prefers the first');
    expect(stdout).not.toContain('"padded"');
    expect([folder.asked('a'), folder.asked('b')]).toEqual([QUESTION_COUNT, QUESTION_COUNT]);
    // A verdict, five changed answers and two comparisons for each answer.
    expect(folder.asked('judge')).toBe(2 * QUESTION_COUNT * (1 + 5 + 2));
    expect((await folder.thrice('verify', folder.group)).exitCode).toBe(0);
    const again = folder.asked('judge');
    await folder.thrice('judge', folder.group, '--probe');
    expect(folder.asked('judge')).toBe(again);
  });

  it('reports how far its verdicts agree, with each other and with people', async () => {
    await using folder = await openFolder();
    await folder.thrice('run', 'judged.toml');
    await folder.thrice('judge', folder.group, '--replicates', '2', '--model', 'lab/judge');
    const asked = folder.asked('judge');

    const report = await folder.thrice('judge', folder.group, '--report', '--gold', 'gold.jsonl');

    expect(report).toMatchObject({ exitCode: 0 });
    expect(report.stdout).toMatch(/a +12 +24 +0 +0\.000 \(0\.000 to 0\.000\)/);
    expect(report.stdout).toMatch(/all +2 +0\.500/);
    expect(folder.asked('judge')).toBe(asked);
  });

  it('refuses a gold file that says nothing clear about its answers, line by line', async () => {
    await using folder = await openFolder();
    await folder.thrice('run', 'judged.toml');
    const row = { id: 'q1', config: 'a', correct: true };
    const rows = [
      row,
      { ...row, correct: false },
      { ...row, id: 'zz' },
      { ...row, config: 'b' },
      { ...row, run: 'other' },
      { ...row, correct: 'yes' },
    ];
    await folder.write('rows.jsonl', rows.map((each) => `${JSON.stringify(each)}\n`).join(''));
    await folder.write('empty.jsonl', '\n');
    const report = (gold: string) =>
      folder.thrice('judge', folder.group, '--report', '--gold', gold);

    const outcomes = [await report('rows.jsonl'), await report('empty.jsonl')];

    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([64, 64]);
    const lines = outcomes.map(({ stderr }) => stderr.trim().split('\n'));
    expect(lines).toEqual([
      [
        expect.stringMatching(/:6: expected a line as .*, received \{"id":"q1",.*"yes"\}/),
        expect.stringMatching(/:2: .*received another verdict on that of line 1/),
        expect.stringMatching(/:3: id "zz": no such question in /),
        expect.stringMatching(/:4: config "b": no such config in /),
        expect.stringMatching(/:5: run "other": no such run in /),
      ],
      [expect.stringContaining('empty.jsonl: expected at least one row, received none')],
    ]);
  });

  it('withholds the grades of judges that agree too little with people', async () => {
    await using folder = await openFolder((asked) => `correct: ${asked === 1 ? 'no' : 'yes'}`);
    await folder.thrice('run', 'judged.toml');
    const report = ['judge', folder.group, '--report', '--gold', 'gold.jsonl', '--floor'];

    const below = await folder.thrice(...report, '0.9');
    const withheld = await folder.replicate();
    const verified = await folder.thrice('verify', folder.group);
    const reached = await folder.thrice(...report, '0.5', '--json');

    expect(below).toMatchObject({ exitCode: 1 });
    expect(below.stderr).toMatch(
      /on 0\.\d+ of 2 answers, less than 0\.9: no answer that they judge has a grade/,
    );
    expect(withheld).toMatchObject({ ungraded: QUESTION_COUNT, scored: 0, score: null });
    expect(verified).toMatchObject({ exitCode: 0 });
    expect(reached).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(reached.stdout)).toMatchObject({ grading: { number: 3 }, isNew: true });
    expect(await folder.replicate()).toMatchObject({ scored: QUESTION_COUNT });
  });

  const refusals: readonly (readonly [parameters: string, exitCode: number, message: string])[] = [
    ['--report --floor 0.9', 64, '--floor: expected it with --gold, received it without'],
    ['--report --configs a', 64, '--configs: expected it without --report'],
    ['--report --probe', 64, '--probe: expected it without --report'],
    ['', 64, 'expected a scorer that asks a judge, received "includes"'],
    ['--scorer qualty', 64, 'received "qualty"; did you mean "quality"?'],
    ['--scorer quality --configs b', 64, 'unknown config "b"'],
    ['--model gpt-9', 64, '--model: expected lane/model, as in openai/gpt-5.2, received "gpt-9"'],
    ['--model lap/m', 64, '--model: unknown lane "lap"; did you mean "lab"?'],
    [
      '--model keyed/m',
      69,
      'lane keyed: expected its key in THRICE_TEST_UNSET_KEY, which is not set',
    ],
    [
      '--model lab/absent',
      69,
      '[unknown-model] --model lab/absent: 404 The model `absent` does not',
    ],
  ];

  it('refuses what is mistaken, and changes nothing', async () => {
    await using folder = await openFolder();
    await folder.thrice('run', 'benchmark.toml');
    const before = await folder.plan();

    const outcomes: Outcome[] = [];
    for (const [parameters] of refusals)
      outcomes.push(
        await folder.thrice('judge', folder.group, ...parameters.split(' ').filter(Boolean)),
      );

    for (const [index, [, , message]] of refusals.entries())
      expect(outcomes[index]?.stderr).toContain(message);
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual(
      refusals.map(([, exitCode]) => exitCode),
    );
    expect(folder.asked('judge')).toBe(0);
    expect(await folder.plan()).toEqual(before);
    expect((await folder.thrice('verify', folder.group)).exitCode).toBe(0);
  });

  it('says what leads back to the grades before, and from a judge that is gone', async () => {
    await using folder = await openFolder();
    await folder.thrice('run', 'benchmark.toml');
    const { group } = folder;

    const judged = await folder.thrice('judge', group, '--scorer', 'gone');
    const resumed = await folder.thrice('resume', group);
    const status = await folder.thrice('status', group);
    const back = await folder.thrice('rescore', group, '--spec', 'benchmark.toml');

    const next = `next: thrice judge ${group} --model LANE/MODEL\n`;
    expect([judged, resumed, back].map(({ exitCode }) => exitCode)).toEqual([2, 2, 0]);
    expect(judged.stderr).toContain('edited: configs.a.scorer: was includes, is lab/absent\n');
    expect(judged.stderr).toContain(
      `back to the scorers of the spec: thrice rescore ${group} --spec ${folder.spec}\n`,
    );
    expect([judged.stderr, resumed.stderr, status.stdout]).toEqual([
      expect.stringContaining(next),
      expect.stringContaining(next),
      expect.stringContaining(next),
    ]);
    expect(await folder.replicate()).toMatchObject({ scored: QUESTION_COUNT, score: 1 });
  });
});
