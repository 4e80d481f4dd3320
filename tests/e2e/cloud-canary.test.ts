import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openCloud } from '../support/cloud.ts';
import {
  canaryKey,
  findLeaks,
  hookPath,
  hookSecret,
  startEchoingServer,
} from '../support/echoing-server.ts';
import { sendJson, startHttpServer } from '../support/http-server.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { dumpStage, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The lanes of the stage by the model of the server that they ask, with the variables of their keys. */
const lanes: readonly (readonly [lane: string, model: string, variable: string])[] = [
  ['mistral', 'a', 'MISTRAL_API_KEY'],
  ['kimi', 'denied', 'KIMI_API_KEY'],
  ['deepseek', 'unpaid', 'DEEPSEEK_API_KEY'],
  ['grok', 'other', 'GROK_API_KEY'],
];

/** A benchmark with a config on each lane, which tells a webhook. */
function benchmarkOn(url: string): Readonly<Record<string, string>> {
  const tables = lanes.map(
    ([lane, model]) =>
      `[lanes.${lane}]\nbase_url = "${url}"\n[[configs]]\nname = "${model}"\nmodel = "${lane}/${model}"\nscorer = "includes"\n`,
  );
  const notify = '[notify]\nwebhook_env = "THRICE_WEBHOOK"\nsecret_env = "THRICE_WEBHOOK_SECRET"\n';
  const top = 'questions = "questions.jsonl"\nmax_attempts = 2\n';
  return { ...smallBenchmark({ url }), 'benchmark.toml': [top, ...tables, notify].join('') };
}

it('keeps keys that vendors echo out of the table, the bucket, the logs, the webhook and what commands show', async () => {
  await using server = await startEchoingServer();
  await using hook = await startHttpServer((response) => sendJson(response, 'ok'));
  await using folder = await temporaryFolder(benchmarkOn(server.url));
  const machine = {
    ...Object.fromEntries(lanes.map(([, , variable]) => [variable, canaryKey])),
    THRICE_WEBHOOK: hook.url.replace('/v1', hookPath),
    THRICE_WEBHOOK_SECRET: hookSecret,
  };
  await using cloud = await openCloud({ machine, tickSeconds: 1 });

  const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
  const shown = [ran, await thriceIn(cloud, folder.path, 'dlq', 'ls', '--json')];

  const keys = server.requests.map(({ headers }) => headers.authorization);
  expect(new Set(keys)).toEqual(new Set([`Bearer ${canaryKey}`]));
  expect(ran.exitCode).toBe(2);
  const stage = await dumpStage(cloud);
  const stored = [...stage.values()].join('\n');
  const codes = ['invalid-request', 'model-unavailable', 'auth-failed', 'quota-exhausted'];
  expect(codes.filter((code) => !stored.includes(code))).toEqual([]);
  expect(stored.includes('42 [key] [key]')).toBe(true);
  expect(hook.requests.length).toBeGreaterThan(0);
  const log = await readFile(cloud.logPath, 'utf8');
  const streams = [
    ['log', log],
    ...shown.map(({ stdout, stderr }) => ['a stream', stdout + stderr]),
    ...hook.requests.map(({ body }) => ['the webhook', JSON.stringify(body)]),
  ].map(([name = '', text = '']) => [name, text] as const);
  expect(findLeaks([...stage, ...streams])).toEqual([]);
});
