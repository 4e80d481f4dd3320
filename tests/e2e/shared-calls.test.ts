import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { Summary } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { readCellRows } from '../support/cell-rows.ts';
import { aCompletion, type HttpServer, sendJson, startHttpServer } from '../support/http-server.ts';
import { callThrice, groupOf, startThrice } from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const QUESTION_COUNT = 20;
const questions = Array.from({ length: QUESTION_COUNT }, (_, index) =>
  JSON.stringify({ id: `q${index}`, question: `What is ${index}?`, target: '42' }),
);

/** A model server whose answers differ from request to request: right every third time. */
async function startModel(): Promise<HttpServer & { count(): number }> {
  let count = 0;
  const server = await startHttpServer((response) => {
    count += 1;
    const content = count % 3 === 0 ? 'It is 42' : `It is ${count + 100}`;
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    sendJson(response, aCompletion({ content }, { model: 'm', usage }));
  });
  return {
    ...server,
    count: () => count,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Two configs over the same model that differ in their scorer, and one that asks otherwise. */
function aSpec(url: string, top = ''): string {
  return `questions = "questions.jsonl"
replicates = 2
${top}
[lanes.lab]
base_url = "${url}"
[prices."lab/m"]
input = 1.0
output = 1.0
[[configs]]
name = "includes"
model = "lab/m"
scorer = "includes"
[[configs]]
name = "exact"
model = "lab/m"
[[configs]]
name = "brief"
model = "lab/m"
scorer = "includes"
system = "Be brief."
`;
}

async function openFolder(url: string): Promise<TemporaryFolder> {
  return await temporaryFolder({
    'apart.toml': aSpec(url),
    'shared.toml': aSpec(url, 'share_calls = true'),
    'questions.jsonl': `${questions.join('\n')}\n`,
  });
}

async function run(
  folder: TemporaryFolder,
  ...argv: readonly string[]
): Promise<{ readonly group: string; readonly summary: Summary; readonly stderr: string }> {
  const { exitCode, stdout, stderr } = await callThrice(['run', ...argv], { cwd: folder.path });
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  const group = groupOf({ stdout });
  const path = folder.resolve('.thrice', 'runs', group, 'summary.json');
  return { group, summary: JSON.parse(await readFile(path, 'utf8')) as Summary, stderr };
}

/** The scores by config and replicate. */
function scoresOf({ configs }: Summary): object {
  return Object.fromEntries(
    configs.map(({ config, replicates }) => [config, replicates.map(({ score }) => score)]),
  );
}

function costOf({ configs }: Summary): number {
  const costs = configs.flatMap(({ replicates }) => replicates.map(({ costUsd }) => costUsd ?? 0));
  return costs.reduce((sum, cost) => sum + cost, 0);
}

async function verify(folder: TemporaryFolder, group: string): Promise<number | null> {
  return (await callThrice(['verify', group], { cwd: folder.path })).exitCode;
}

describe('configs that share calls', () => {
  it('buy what they ask in common once, and the costs add up to what was bought', async () => {
    await using model = await startModel();
    await using folder = await openFolder(model.url);

    const { group, summary } = await run(folder, 'shared.toml');

    expect(model.count()).toBe(QUESTION_COUNT * 2 * 2);
    expect(costOf(summary)).toBeCloseTo(model.count() * 15e-6, 12);
    const outputsOf = async (config: string) =>
      (await readCellRows(folder.resolve('.thrice'), group, config)).map(({ output }) => output);
    expect(await outputsOf('exact')).toEqual(await outputsOf('includes'));
    expect(await verify(folder, group)).toBe(0);
    const shown = await Promise.all(
      ['exact', 'includes'].map(
        async (config) =>
          (await callThrice(['show', `${group}-r1`, config, 'q1'], { cwd: folder.path })).stdout,
      ),
    );
    const buyers = shown.flatMap((text) => /taken from (.*)/.exec(text)?.[1] ?? []);
    expect(buyers).toEqual([expect.stringMatching(/-r1 (?:exact|includes) q1, step answer$/)]);
  });
});

describe('a run that reuses another', () => {
  it('buys nothing that the other has bought, and has its scores', async () => {
    await using model = await startModel();
    await using folder = await openFolder(model.url);
    const earlier = await run(folder, 'apart.toml');
    const boughtCount = model.count();

    const later = await run(folder, 'apart.toml', '--label', 'later', '--reuse', earlier.group);

    expect(model.count()).toBe(boughtCount);
    expect(scoresOf(later.summary)).toEqual(scoresOf(earlier.summary));
    expect(costOf(later.summary)).toBe(0);
    expect(await verify(folder, later.group)).toBe(0);
  });

  it('refuses a group that has none of its calls, and creates and buys nothing', async () => {
    await using model = await startModel();
    await using folder = await openFolder(model.url);
    const earlier = await run(folder, 'apart.toml');
    const boughtCount = model.count();
    const spec = await readFile(folder.resolve('apart.toml'), 'utf8');
    const other = spec.replaceAll('model = "lab/m"', 'model = "lab/m"\ntemperature = 0.5');
    await writeFile(folder.resolve('other.toml'), other);
    const reuse = ['other.toml', '--reuse', earlier.group];

    const outcomes = await Promise.all(
      ['run', 'estimate'].map((command) => callThrice([command, ...reuse], { cwd: folder.path })),
    );

    for (const { exitCode, stdout, stderr } of outcomes) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
      expect(stderr).toContain(
        `--reuse: expected calls of ${earlier.group} that this spec asks for`,
      );
    }
    expect(model.count()).toBe(boughtCount);
    expect(await readdir(folder.resolve('.thrice', 'runs'))).toEqual([earlier.group]);
  });

  it.each([
    [['--reuse', 'none'], 'unknown-group'],
    [['--reuse', 'apart', '--fresh'], 'invalid-argument'],
  ])('refuses %j', async (argv, code) => {
    await using folder = await openFolder('http://127.0.0.1:1/v1');

    const { exitCode, stderr } = await callThrice(['run', 'apart.toml', ...argv], {
      cwd: folder.path,
    });

    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining(`[${code}]`) as string,
    });
  });
});

describe('a fresh run', () => {
  it('buys every call, whatever the spec says', async () => {
    await using model = await startModel();
    await using folder = await openFolder(model.url);

    await run(folder, 'shared.toml', '--fresh');

    expect(model.count()).toBe(QUESTION_COUNT * 3 * 2);
  });
});

describe('a group that is served as a model', () => {
  it('gives a run against it the same scores, offline', async () => {
    await using model = await startModel();
    await using folder = await openFolder(model.url);
    const recorded = await run(folder, 'apart.toml');
    const boughtCount = model.count();
    await using simulator = startThrice(['simulate', '--replay', recorded.group], {
      cwd: folder.path,
    });
    await simulator.prints(/\n/);
    const url = simulator.stdout.trim();
    await writeFile(folder.resolve('offline.toml'), aSpec(url));

    const offline = await run(folder, 'offline.toml');

    expect(model.count()).toBe(boughtCount);
    expect(scoresOf(offline.summary)).toEqual(scoresOf(recorded.summary));
    expect(costOf(offline.summary)).toBeCloseTo(costOf(recorded.summary), 12);
    const unknown = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Else?' }] }),
    });
    expect(unknown.status).toBe(400);
    expect(await unknown.json()).toMatchObject({ error: { code: 'no_recording' } });
  });
});
