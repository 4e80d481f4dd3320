import { appendFile, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { startFakeHub } from '../../support/fake-hub.ts';
import {
  aCompletion,
  type HttpServer,
  sendJson,
  startHttpServer,
} from '../../support/http-server.ts';
import { callThrice } from '../../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

const fixtures = fileURLToPath(new URL('../../fixtures/datasets/', import.meta.url));

describe('thrice run', () => {
  it('asks a dataset with its own prompt, images and scorer', async () => {
    await using server = await startModel(
      'Explanation: It shows one.\nAnswer: red\nConfidence: 9%',
    );
    await using folder = await benchmark(server, {
      questions: `{ dataset = "hle", path = ${JSON.stringify(`${fixtures}hle/export`)} }`,
    });

    const { scores } = await run(folder);

    expect(scores).toEqual({ 'hle/generated-0001': 1, 'hle/generated-0002': 0 });
    const asked = messagesOf(server).find((messages) =>
      JSON.stringify(messages).includes('image_url'),
    );
    expect(asked).toEqual([
      {
        role: 'system',
        content: expect.stringMatching(/^Your response should be in the/) as string,
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What color is the generated picture?' },
          {
            type: 'image_url',
            image_url: { url: expect.stringMatching(/^data:image\/png;base64,/) as string },
          },
        ],
      },
    ]);
  });

  it('asks the conversations of a packed table', async () => {
    await using server = await startModel('4');
    const turns = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'I have 2.' },
      { role: 'assistant', content: 'Of what?' },
      { role: 'user', content: 'Apples, and 2 more. How many?' },
    ];
    const cell = JSON.stringify(turns).replaceAll('"', '""');
    await using folder = await benchmark(server, {
      questions: '"q.csv.gz"',
      rest: '[columns]\nmessages = "turns"\ntarget = "gold"',
      files: { 'q.csv.gz': gzipSync(`turns,gold\n"${cell}",4\n`) },
    });

    const { scores } = await run(folder);

    expect(Object.values(scores)).toEqual([1]);
    expect(Object.keys(scores)[0]).toMatch(/^q-[0-9a-f]{16}$/);
    expect(messagesOf(server)).toEqual([turns]);
  });

  it('downloads a dataset, says so, and resumes without the hub', async () => {
    await using server = await startModel('2+2\nAnswer: 4');
    await using folder = await benchmark(server, { questions: '{ dataset = "gsm8k" }' });
    const environment = { HF_HUB_CACHE: folder.resolve('hub'), HF_HOME: folder.resolve('home') };
    const hub = await startFakeHub({
      repository: 'openai/gsm8k',
      commit: 'c'.repeat(40),
      files: { 'main/test.jsonl': '{"question":"2+2?","answer":"Two and two.\\n#### 4"}\n' },
    });

    const { scores, stderr } = await run(folder, { ...environment, HF_ENDPOINT: hub.url });
    await hub[Symbol.asyncDispose]();
    const resumed = await callThrice(['resume', 'trial'], { cwd: folder.path });

    expect(scores).toEqual({ 'gsm8k/test/0': 1 });
    expect(stderr).toContain('downloading hf://datasets/openai/gsm8k/main/test.jsonl (0.0 MB)');
    expect(resumed.exitCode).toBe(0);
    expect(server.requests.filter(({ path }) => path.endsWith('/completions'))).toHaveLength(1);
  });

  it('resumes a group whose table only gained blank rows', async () => {
    await using server = await startModel('4');
    await using folder = await benchmark(server, {
      questions: '"q.csv"',
      rest: '[columns]\ntarget = "gold"',
      files: { 'q.csv': 'question,gold\nHow many?,4\n' },
    });
    await run(folder);
    await appendFile(folder.resolve('q.csv'), '\n\n');

    const { exitCode, stderr } = await callThrice(['resume', 'trial'], { cwd: folder.path });

    expect(stderr).not.toContain('spec-changed');
    expect(exitCode).toBe(0);
  });

  it.each([
    [
      'a row',
      '"q.csv"',
      { 'q.csv': 'question,gold\nWhy?,\n,b\n' },
      'q.csv:3: question: expected a text, received none',
    ],
    [
      'a column',
      '"q.csv"',
      { 'q.csv': 'question,golden\nWhy?,a\n' },
      'q.csv:2: target: expected a column "gold"; did you mean "golden"?',
    ],
    [
      'a broken line',
      '"q.tsv"',
      { 'q.tsv': 'question\tgold\nWhy?\ta\tb\n' },
      'q.tsv:2: expected 2 fields, one per column, received 3',
    ],
    [
      'an address',
      '"https://huggingface.co/datasets/openai/gsm8k/blob/main/main/test-00000-of-00001.parquet"',
      {},
      'write it as hf://datasets/openai/gsm8k/main/test-00000-of-00001.parquet',
    ],
    ['another dataset', '{ dataset = "gsm8k", path = "." }', {}, '"gsm8k", as main/test-* or'],
  ])(
    'refuses %s that is wrong, with file, row and column',
    async (_, questions, files, problem) => {
      await using server = await startModel('4');
      const rest = questions.startsWith('{') ? '' : '[columns]\ntarget = "gold"';
      await using folder = await benchmark(server, { questions, rest, files });

      const { exitCode, stderr } = await callThrice(['run', 'benchmark.toml'], {
        cwd: folder.path,
      });

      expect(exitCode).toBe(64);
      expect(stderr).toContain(problem);
      expect(server.requests).toEqual([]);
    },
  );
});

async function startModel(content: string): Promise<HttpServer> {
  return await startHttpServer((response) => sendJson(response, aCompletion({ content })));
}

async function benchmark(
  server: HttpServer,
  {
    questions,
    rest = '',
    files = {},
  }: {
    readonly questions: string;
    readonly rest?: string;
    readonly files?: Readonly<Record<string, string | Uint8Array>>;
  },
): Promise<TemporaryFolder> {
  const spec = `questions = ${questions}
${rest}
[lanes.lab]
base_url = "${server.url}"
[[configs]]
name = "a"
model = "lab/m"
`;
  return await temporaryFolder({ 'benchmark.toml': spec, ...files });
}

/** Runs the benchmark and verifies it. */
async function run(folder: TemporaryFolder, environment: Readonly<Record<string, string>> = {}) {
  const command = ['run', 'benchmark.toml', '--label', 'trial'];
  const { exitCode, stdout, stderr } = await callThrice(command, { cwd: folder.path, environment });
  const verified = await callThrice(['verify', 'trial'], { cwd: folder.path });
  expect([exitCode, verified.exitCode]).toEqual([0, 0]);
  const [group = ''] = stdout.split('\n', 1);
  const cells = folder.resolve('.thrice', 'runs', group, `${group}-r1`, 'cells', 'a.jsonl');
  const rows = (await readFile(cells, 'utf8')).trim().split('\n');
  const scores = rows.map((row) => JSON.parse(row) as { id: string; score: number | null });
  return { stderr, scores: Object.fromEntries(scores.map(({ id, score }) => [id, score])) };
}

function messagesOf({ requests }: HttpServer): readonly unknown[] {
  return requests.map(({ body }) => body['messages']);
}
