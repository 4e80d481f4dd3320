import { storePlan } from '@thrice/core';
import { type Cloud, connectionLost, type Intercept } from '@thrice/local-cloud';
import { type Faults, startSimulator } from '@thrice/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import { cellRowSchema } from '../../packages/core/src/domain/cell.ts';
import { everythingTwice, shakyServices } from '../support/aws-faults.ts';
import { openCloud, type StackChanges, synthesizeStack } from '../support/cloud.ts';
import { FunctionKiller } from '../support/function-killer.ts';
import { requestsOf } from '../support/model-servers.ts';
import { groupOf, startThrice } from '../support/run-thrice.ts';
import {
  countTasks,
  listMessages,
  openStageStores,
  pullRows,
  sendRaw,
  stageBenchmark,
  thriceIn,
} from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { planToy, startToyServer, summarizeToy, toyQuestions } from '../support/toy-benchmark.ts';
import { waitUntil } from '../support/wait-until.ts';

const QUESTIONS = 60;
const onceEach: readonly number[] = Array.from({ length: QUESTIONS }, () => 1);

/** The model `bad` never answers; the other always does. */
const badModel: Faults = { seed: 1, faults: [{ kind: 'server-error', model: 'bad' }] };

/**
 * Shortens minutes to seconds: the cell of a dead worker is redelivered as soon as its lease ends. Calls get half
 * a function's time, which is enough on a busy machine, and deliveries are enough for every kill.
 */
const shortTimes: StackChanges = {
  functions: { Answer: { timeoutSeconds: 60 } },
  queues: { LaneSim: { visibilitySeconds: 61, maxReceiveCount: 10 } },
};

let stack: unknown;
beforeAll(async () => {
  stack = await synthesizeStack();
});

describe('a run in a stage', () => {
  it('asks for each answer once although every message is delivered twice and out of order', async () => {
    await using simulator = await startSimulator();
    const files = stageBenchmark({ url: simulator.url, questionCount: QUESTIONS });
    await using folder = await temporaryFolder(files);
    await using cloud = await openCloud({ stack, intercept: everythingTwice, tickSeconds: 1 });

    const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
    await waitUntil('the queue is empty', async () => (await countTasks(cloud, 'sim')) === 0);
    const rows = await pullRows(cloud, folder.path, groupOf(ran), 'a');

    expect(ran.exitCode).toBe(0);
    expect(rows.map(({ outcome }) => outcome)).toEqual(onceEach.map(() => 'scored'));
    expect([...requestsOf(simulator, 'a').values()]).toEqual(onceEach);
    expect(await listMessages(cloud, folder.path)).toEqual({ cells: [], unreadable: 0 });
  });

  it('asks for each answer once although services throttle, fail and lose responses', async () => {
    await using simulator = await startSimulator();
    const files = stageBenchmark({ url: simulator.url, questionCount: QUESTIONS });
    await using folder = await temporaryFolder(files);
    await using cloud = await openCloud({ stack, intercept: shakyServices(0.1), tickSeconds: 1 });

    const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
    const verified = await thriceIn(cloud, folder.path, 'verify', groupOf(ran));

    expect(ran).toMatchObject({ exitCode: 0 });
    expect(verified).toMatchObject({ exitCode: 0 });
    expect([...requestsOf(simulator, 'a').values()]).toEqual(onceEach);
    expect(await listMessages(cloud, folder.path)).toEqual({ cells: [], unreadable: 0 });
  });

  it('continues with new code that is deployed while it runs', async () => {
    const models = { '*': { accuracy: 1, latencyMs: { fixed: 300 } } };
    await using simulator = await startSimulator({ behaviour: { seed: 1, models } });
    const files = stageBenchmark({ url: simulator.url, questionCount: QUESTIONS });
    await using folder = await temporaryFolder(files);
    await using cloud = await openCloud({ stack, tickSeconds: 1 });

    await using running = startThrice(['run', 'benchmark.toml', '--stage', 'local'], {
      cwd: folder.path,
      environment: cloud.variables,
    });
    await waitUntil('some cells are answered', () => simulator.stats().okCount >= 10);
    const countAtDeployment = simulator.stats().okCount;
    await cloud.deploy();
    const ran = await running.ended;

    expect(ran.exitCode).toBe(0);
    expect(countAtDeployment).toBeLessThan(QUESTIONS);
    expect([...requestsOf(simulator, 'a').values()]).toEqual(onceEach);
  });
});

describe.concurrent('a stage whose functions die, time out and fail', () => {
  it('loses no cell, pays for no committed answer twice, and replays failed cells', async ({
    expect,
    onTestFailed,
  }) => {
    await using resources = new AsyncDisposableStack();
    const broken = resources.use(await startSimulator({ faults: badModel }));
    const files = stageBenchmark({
      url: broken.url,
      questionCount: QUESTIONS,
      configs: ['a', 'bad'],
      top: 'max_attempts = 3',
    });
    const spec = files['benchmark.toml'].replace(/(name = "bad"\n)/, '$1select = { limit = 3 }\n');
    await using folder = await temporaryFolder({ ...files, 'benchmark.toml': spec });
    const killer = new FunctionKiller('Answer');
    const { intercept } = killer;
    const changes = shortTimes;
    await using cloud = await openCloud({
      stack,
      intercept,
      changes,
      tickSeconds: 1,
      onTestFailed,
    });
    killer.functions = cloud.functions;
    await sendRaw(cloud, 'sim', ['no JSON', JSON.stringify({ v: 2, task: 'of newer code' })]);

    const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
    const group = groupOf(ran);
    await waitUntil('the invalid messages are in the DLQ', async () => {
      const { unreadable } = await listMessages(cloud, folder.path);
      return unreadable === 2;
    });
    const messages = await listMessages(cloud, folder.path);
    const rows = await pullRows(cloud, folder.path, group, 'a');
    const failed = await pullRows(cloud, folder.path, group, 'bad');

    expect(ran.exitCode).toBe(1);
    expect(killer.remainingKills).toEqual([]);
    expect(rows.map(({ outcome }) => outcome)).toEqual(onceEach.map(() => 'scored'));
    expect(failed.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed']);
    expect(messages.cells).toEqual(['bad q1', 'bad q2', 'bad q3']);
    const repeatedRequests = [...requestsOf(broken, 'a')].filter(([, count]) => count > 1);
    expect(repeatedRequests).toEqual(killer.uncommitted('a').map((id) => [id, 2]));

    const port = Number(new URL(broken.url).port);
    await broken.close();
    await using repaired = await startSimulator({ port });
    const replayed = await thriceIn(cloud, folder.path, 'dlq', 'replay', '--config', 'bad');
    await waitUntil('the replayed cells are complete', async () => {
      const { stdout } = await thriceIn(cloud, folder.path, 'status', group, '--json');
      return (JSON.parse(stdout) as { readonly state: string }).state === 'complete';
    });
    const verified = await thriceIn(cloud, folder.path, 'verify', group);

    expect(replayed).toMatchObject({ exitCode: 0 });
    expect(replayed.stdout).toContain('replayed 3 cells');
    expect([...requestsOf(repaired, 'bad').values()]).toEqual([1, 1, 1]);
    expect(await listMessages(cloud, folder.path)).toEqual({ cells: [], unreadable: 2 });
    expect(verified).toMatchObject({ exitCode: 0 });
  });

  it('completes a plan and results whose functions died halfway', async ({
    expect,
    onTestFailed,
  }) => {
    await using simulator = await startSimulator();
    const files = stageBenchmark({ url: simulator.url, questionCount: QUESTIONS });
    await using folder = await temporaryFolder(files);
    const killed: string[] = [];
    const functions: { all?: Cloud['functions'] } = {};
    const intercept: Intercept = async ({ environmentId = '', operation }, proceed) => {
      const response = await proceed();
      const [component = ''] = environmentId.split('-');
      const isHalfway = operation === (component === 'Plan' ? 'SendMessageBatch' : 'PutObject');
      if (!/^(Plan|Finalize)$/.test(component) || !isHalfway || killed.includes(component)) {
        return response;
      }
      killed.push(component);
      functions.all?.get(component)?.kill(environmentId);
      return connectionLost;
    };
    // Without a reconciler: the message of a dead function is redelivered by itself.
    await using cloud = await openCloud({ stack, intercept, tickSeconds: 3_600, onTestFailed });
    functions.all = cloud.functions;

    const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml');
    const verified = await thriceIn(cloud, folder.path, 'verify', groupOf(ran));

    expect(ran).toMatchObject({ exitCode: 0 });
    expect(killed).toEqual(['Plan', 'Finalize']);
    expect([...requestsOf(simulator, 'a').values()]).toEqual(onceEach);
    expect(verified).toMatchObject({ exitCode: 0 });
  });

  it('continues the steps of a solver that does not come with Thrice', async ({
    expect,
    onTestFailed,
  }) => {
    await using server = await startToyServer();
    await using folder = await temporaryFolder({ 'questions.jsonl': toyQuestions(QUESTIONS) });
    const killer = new FunctionKiller('Answer');
    const { functions, queues } = shortTimes;
    const answer = { ...functions?.['Answer'], handler: 'tests/fixtures/toy/answer.handler' };
    await using cloud = await openCloud({
      stack,
      changes: { functions: { Answer: answer }, ...(queues !== undefined && { queues }) },
      intercept: killer.intercept,
      tickSeconds: 1,
      onTestFailed,
    });
    killer.functions = cloud.functions;
    using stage = await openStageStores(cloud);

    const header = await storePlan(await planToy(folder.path, server.url), stage);
    const { group, runs } = header;
    await stage.activeGroups.add(group);
    await stage.requests.requestDispatch({ v: 1, group, kind: 'plan' });
    await waitUntil('the results are published', () =>
      stage.blobs.has(`runs/${group}/summary.json`),
    );
    const text = await stage.blobs.readText(`runs/${group}/${runs[0]}/cells/toy.jsonl`);
    const rows = (text ?? '').trim().split('\n');

    const parsed = rows.map((row) => cellRowSchema.parse(JSON.parse(row)));
    expect(summarizeToy(parsed)).toEqual({ rows: QUESTIONS, whole: QUESTIONS });
    expect(server.counts.size).toBe(2 * QUESTIONS);
    const againCount = server.requests.length - 2 * QUESTIONS;
    expect(againCount).toBe(killer.uncommitted('toy').length);
    expect(killer.remainingKills.filter((kill) => kill.includes('commit'))).toEqual([]);
  });
});
