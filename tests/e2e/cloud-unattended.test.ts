import { type Fault, type Simulator, startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { countOutcomes } from '../support/cell-rows.ts';
import { openCloud } from '../support/cloud.ts';
import { sendJson, startHttpServer } from '../support/http-server.ts';
import { requestsOf } from '../support/model-servers.ts';
import { groupOf } from '../support/run-thrice.ts';
import { pullRows, stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const QUESTIONS = 60;
const ANSWERED_FIRST = 30;
/** The concurrent invocations of a lane, by `stacks/lanes.ts`. */
const IN_FLIGHT = 8;

const onceEach = Array.from({ length: QUESTIONS }, () => 1);

function okCountOf({ stats }: Simulator): number {
  return [...stats().requestsByQuestion.values()].reduce((sum, { ok }) => sum + ok, 0);
}

it('resumes by itself when a quota that died in the middle of a run is back, and tells the webhook', async () => {
  await using resources = new AsyncDisposableStack();
  const exhausted: Fault = {
    kind: 'usage-limit',
    requests: [ANSWERED_FIRST + 1],
    resetSeconds: 6,
  };
  const dying = resources.use(await startSimulator({ faults: { seed: 1, faults: [exhausted] } }));
  const sound = resources.use(await startSimulator());
  const webhook = resources.use(await startHttpServer((response) => sendJson(response, 'ok')));
  const files = stageBenchmark({
    url: dying.url,
    questionCount: QUESTIONS,
    configs: ['dying', 'sound'],
    more: '[notify]\nwebhook_env = "THRICE_WEBHOOK"\nsecret_env = "THRICE_WEBHOOK_SECRET"\n',
  });
  const spec = files['benchmark.toml']
    .replace('[[configs]]', `[lanes.mistral]\nbase_url = "${sound.url}"\n\n[[configs]]`)
    .replace('model = "sim/sound"', 'model = "mistral/sound"');
  await using folder = await temporaryFolder({ ...files, 'benchmark.toml': spec });
  const machine = {
    MISTRAL_API_KEY: 'none',
    THRICE_WEBHOOK: webhook.url,
    THRICE_WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  };
  await using cloud = await openCloud({ machine, tickSeconds: 1 });

  const running = thriceIn(cloud, folder.path, 'run', 'benchmark.toml', '--wait-for-quota');
  const isTold = (event: string) =>
    webhook.requests.some(({ body }) => JSON.stringify(body).includes(`thrice_${event}`));
  await waitUntil('the webhook is told of the pause', () => isTold('pause'));
  await dying.close();
  const repaired = resources.use(await startSimulator({ port: Number(new URL(dying.url).port) }));
  const ran = await running;
  await waitUntil('the webhook is told of the end', () => isTold('end'));
  const group = groupOf(ran);
  const outcomes = [
    countOutcomes(await pullRows(cloud, folder.path, group, 'dying')),
    countOutcomes(await pullRows(cloud, folder.path, group, 'sound')),
  ];

  expect(ran.exitCode).toBe(0);
  expect(outcomes).toEqual([{ scored: QUESTIONS }, { scored: QUESTIONS }]);
  expect([okCountOf(dying), okCountOf(repaired)]).toEqual([
    ANSWERED_FIRST,
    QUESTIONS - ANSWERED_FIRST,
  ]);
  expect(dying.stats().faultCounts['usage-limit']).toBeLessThan(2 * IN_FLIGHT);
  expect([...requestsOf(sound, 'sound').values()]).toEqual(onceEach);
  const [first] = webhook.requests;
  expect(first?.headers['webhook-signature']).toMatch(/^v1,/);
  const texts = webhook.requests.map(({ body }) => String(body['text']));
  expect(texts.at(-1)).toBe(`${group}: complete: ${2 * QUESTIONS} cells`);
  expect(texts.filter((text) => text.includes('complete'))).toHaveLength(1);
});
