import { readFile } from 'node:fs/promises';
import type { Cloud } from '@thrice/local-cloud';
import { startSimulator } from '@thrice/simulator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countOutcomes } from '../support/cell-rows.ts';
import { openCloud } from '../support/cloud.ts';
import {
  canaryKey,
  findLeaks,
  hookPath,
  hookSecret,
  startEchoingServer,
} from '../support/echoing-server.ts';
import {
  type HttpServer,
  type ReceivedRequest,
  sendJson,
  startHttpServer,
} from '../support/http-server.ts';
import { requestsOf } from '../support/model-servers.ts';
import { groupOf } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { dumpStage, pullRows, stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const NOTIFY = '[notify]\nwebhook_env = "THRICE_WEBHOOK"\nsecret_env = "THRICE_WEBHOOK_SECRET"\n';
const QUESTIONS = 40;
/** The requests that a quota refuses, by their number: in the middle, however long the others take. */
const REFUSED: [number, number] = [21, 22];

/** The lanes of the stage by the model of the server that they ask, with the variables of their keys. */
const lanes: readonly (readonly [lane: string, model: string, variable: string])[] = [
  ['mistral', 'a', 'ANSWERED_KEY'],
  ['kimi', 'denied', 'DENIED_KEY'],
  ['deepseek', 'unpaid', 'UNPAID_KEY'],
  ['grok', 'other', 'OTHER_KEY'],
];

/** A benchmark with a config on each lane. */
function benchmarkOn(url: string): Readonly<Record<string, string>> {
  const tables = lanes.map(
    ([lane, model, variable]) =>
      `[lanes.${lane}]\nbase_url = "${url}"\napi_key_env = "${variable}"\n[[configs]]\nname = "${model}"\nmodel = "${lane}/${model}"\nscorer = "includes"\n`,
  );
  const top = 'questions = "questions.jsonl"\nmax_attempts = 2\n';
  return { ...smallBenchmark({ url }), 'benchmark.toml': [top, ...tables, NOTIFY].join('') };
}

describe('a stage that nobody watches', () => {
  const resources = new AsyncDisposableStack();
  let cloud: Cloud;
  let webhook: HttpServer;
  let echoing: HttpServer;

  /** What the webhook was told of a group. */
  const toldOf = (group: string, event: string): readonly ReceivedRequest[] =>
    webhook.requests.filter(({ body }) => {
      const text = JSON.stringify(body);
      return text.includes(group) && text.includes(`"thrice_${event}"`);
    });

  beforeAll(async () => {
    webhook = resources.use(await startHttpServer((response) => sendJson(response, 'ok')));
    echoing = resources.use(await startEchoingServer());
    const origins = [new URL(echoing.url).origin];
    const keys = Object.fromEntries(
      lanes.map(([lane, , variable]) => [lane, { variable, origins }]),
    );
    const machine = {
      ...Object.fromEntries(lanes.map(([, , variable]) => [variable, canaryKey])),
      THRICE_WEBHOOK: webhook.url.replace('/v1', hookPath),
      THRICE_WEBHOOK_SECRET: hookSecret,
    };
    // Few processes to start.
    const queues = Object.fromEntries(
      ['Sim', 'Openai', 'Mistral', 'Kimi', 'Deepseek', 'Grok'].map((lane) => [
        `Lane${lane}`,
        { maximumConcurrency: 2 },
      ]),
    );
    const onTestFailed = () => undefined;
    cloud = resources.use(
      await openCloud({ machine, changes: { queues, keys }, tickSeconds: 1, onTestFailed }),
    );
  });
  afterAll(() => resources.disposeAsync());

  it('resumes by itself when a quota that died in the middle of a run is back, and tells the webhook', async () => {
    await using dying = await startSimulator({
      faults: { seed: 1, faults: [{ kind: 'usage-limit', requests: REFUSED, resetSeconds: 2 }] },
    });
    await using sound = await startSimulator();
    const files = stageBenchmark({
      url: dying.url,
      questionCount: QUESTIONS,
      configs: ['dying', 'sound'],
      more: NOTIFY,
    });
    const spec = files['benchmark.toml']
      .replace('[[configs]]', `[lanes.openai]\nbase_url = "${sound.url}"\n\n[[configs]]`)
      .replace('model = "sim/sound"', 'model = "openai/sound"');
    await using folder = await temporaryFolder({ ...files, 'benchmark.toml': spec });

    const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml', '--wait-for-quota');
    const group = groupOf(ran);
    await waitUntil('the webhook is told of the end', () => toldOf(group, 'end').length > 0);
    const outcomes = [
      countOutcomes(await pullRows(cloud, folder.path, group, 'dying')),
      countOutcomes(await pullRows(cloud, folder.path, group, 'sound')),
    ];

    expect(ran.exitCode).toBe(0);
    expect(outcomes).toEqual([{ scored: QUESTIONS }, { scored: QUESTIONS }]);
    const answers = [...dying.stats().requestsByQuestion.values()].map(({ ok }) => ok);
    expect(answers).toEqual(Array.from({ length: QUESTIONS }, () => 1));
    expect(dying.stats().faultCounts['usage-limit']).toBe(REFUSED[1] - REFUSED[0] + 1);
    expect([...requestsOf(sound, 'sound').values()]).toEqual(answers);
    const [end, ...others] = toldOf(group, 'end');
    expect(others).toEqual([]);
    expect(end?.headers['webhook-signature']).toMatch(/^v1,/);
    expect(end?.body['text']).toBe(`${group}: complete: ${2 * QUESTIONS} cells`);
  });

  it('keeps keys that vendors echo out of the table, the bucket, the logs, the webhook and what commands show', async () => {
    await using folder = await temporaryFolder(benchmarkOn(echoing.url));

    const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
    const shown = [ran, await thriceIn(cloud, folder.path, 'dlq', 'ls', '--json')];
    const group = groupOf(ran);
    await waitUntil('the webhook is told of the pause', () => toldOf(group, 'pause').length > 0);

    const keys = echoing.requests.map(({ headers }) => headers.authorization);
    expect(new Set(keys)).toEqual(new Set([`Bearer ${canaryKey}`]));
    expect(ran.exitCode).toBe(2);
    const stage = await dumpStage(cloud);
    const stored = [...stage.values()].join('\n');
    const codes = ['invalid-request', 'model-unavailable', 'auth-failed', 'quota-exhausted'];
    expect(codes.filter((code) => !stored.includes(code))).toEqual([]);
    expect(stored.includes('42 [key] [key]')).toBe(true);
    const log = await readFile(cloud.logPath, 'utf8');
    const streams = [
      ['log', log],
      ...shown.map(({ stdout, stderr }) => ['a stream', stdout + stderr]),
      ...webhook.requests.map(({ body }) => ['the webhook', JSON.stringify(body)]),
    ].map(([name = '', text = '']) => [name, text] as const);
    expect(findLeaks([...stage, ...streams])).toEqual([]);
  });
});
