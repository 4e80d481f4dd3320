import { editGroup, type GroupHeader, loadGroup, storePlan } from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { Cloud } from '@thrice/local-cloud';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareRun } from '../../packages/cli/src/spec/prepare-run.ts';
import { openStageEngine } from '../../packages/cli/src/stage/stage-engine.ts';
import { openCloud, shortLimits, shortLimitsCommand } from '../support/cloud.ts';
import {
  type CollectingServer,
  receivedSecrets,
  startCollectingServer,
} from '../support/collecting-server.ts';
import { benchmarkOn, keysOf, tableAt } from '../support/keyed-benchmark.ts';
import { fakeTerminal, startThrice } from '../support/run-thrice.ts';
import { pullRows, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitUntil, waitUntilShown } from '../support/wait-until.ts';

const SPEC = 'benchmark.toml';
const secrets = {
  ...keysOf('LAB_KEY', 'OWN_KEY'),
  THRICE_WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
};
const NOTIFY = '[notify]\nwebhook_env = "THRICE_WEBHOOK"\nsecret_env = "THRICE_WEBHOOK_SECRET"\n';

/** What each line of a hostile spec asks, by lane: a key of the stage for a server of the spec's own. */
const hostile = (collector: CollectingServer): Readonly<Record<string, string>> => ({
  openai: tableAt(collector, 'api_key_env = "OPENAI_API_KEY"'),
  // The key of another lane, of a vendor and of the stage's own.
  gemini: tableAt(collector, 'api_key_env = "ANTHROPIC_API_KEY"'),
  deepseek: tableAt(collector, 'api_key_env = "LAB_KEY"'),
  grok: `endpoints = ["https://api.x.ai/v1", "${collector.origin}/v1"]\napi_key_env = "GROK_API_KEY"`,
  mistral: tableAt(collector, 'api_key_env = "MISTRAL_API_KEY"\nbatch = true'),
  anthropic: tableAt(collector, 'api_key_env = "ANTHROPIC_API_KEY"\nbatch = true'),
  sim: tableAt(collector, 'api_key_env = "LAB_KEY"\nprotocol = "responses"'),
});

describe('the keys of a stage', () => {
  const resources = new AsyncDisposableStack();
  let collector: CollectingServer;
  /** The only server that the key of lane `sim` may go to. */
  let bound: CollectingServer;
  let redirecting: CollectingServer;
  let cloud: Cloud;

  beforeAll(async () => {
    collector = resources.use(await startCollectingServer('answers'));
    bound = resources.use(await startCollectingServer('answers'));
    redirecting = resources.use(await startCollectingServer({ redirectTo: collector.origin }));
    const lanes = ['Sim', 'Openai', 'Anthropic', 'Gemini', 'Mistral', 'Deepseek', 'Grok'];
    const queues = Object.fromEntries(
      lanes.map((lane) => [`Lane${lane}`, { maximumConcurrency: 2 }]),
    );
    cloud = resources.use(
      await openCloud({
        machine: { ...secrets, THRICE_WEBHOOK: `${redirecting.origin}/hooks/T0000000` },
        changes: {
          ...shortLimits,
          queues: { ...queues, LaneKimi: { maximumConcurrency: 0 } },
          keys: {
            sim: { variable: 'LAB_KEY', origins: [bound.origin, redirecting.origin] },
            // As a user of the command could write it into the table.
            kimi: { variable: 'KIMI_API_KEY', origins: [collector.origin] },
          },
        },
        tickSeconds: 1,
        onTestFailed: () => undefined,
      }),
    );
  });
  afterAll(() => resources.disposeAsync());

  const hasLeak = () => receivedSecrets(collector, secrets).length > 0;

  /** Writes the plan of a spec into the stage past all checks of the command, or into a group that is there. */
  async function plan(
    lanes: Readonly<Record<string, string>>,
    { more = '', before }: { readonly more?: string; readonly before?: GroupHeader } = {},
  ): Promise<GroupHeader> {
    await using folder = await temporaryFolder(benchmarkOn(lanes, more));
    const terminal = fakeTerminal({ workingFolder: folder.path });
    const prepared = await prepareRun(terminal, SPEC, { dir: '.thrice', stage: 'local' });
    Object.assign(process.env, cloud.variables);
    using engine = await openStageEngine('local');
    const { ledger, clock } = engine;
    if (before === undefined) {
      const header = await storePlan({ ...prepared, clock, random: Math.random }, engine);
      await engine.requests.requestDispatch({ v: 1, group: header.group, kind: 'plan' });
      return header;
    }
    const record = await ledger.readGroup(before.group);
    if (record === undefined) throw new Error(`no group ${before.group}`);
    const edit = { ...prepared, group: loadGroup(record) };
    const header = await editGroup(edit, { ...engine, createDigest: createNodeDigest });
    await engine.activeGroups.add(header.group);
    for (const breaker of await ledger.listOpenBreakers()) await ledger.closeBreaker(breaker);
    await engine.requests.requestDispatch({ v: 1, group: header.group, kind: 'plan' });
    return header;
  }

  /** Waits for the end of a group, and returns what the cells of each config ended with; none if there is a leak first. */
  async function endingsOf({ group, configs }: GroupHeader) {
    await using folder = await temporaryFolder();
    await waitUntilShown(`${group} has ended`, async () => {
      const { stdout } = await thriceIn(cloud, folder.path, 'status', group, '--json');
      return hasLeak() || /"state": "(complete|incomplete)"/.test(stdout);
    });
    if (hasLeak()) return {};
    const endings: Record<string, readonly (string | undefined)[]> = {};
    for (const { config } of configs) {
      const rows = await pullRows(cloud, folder.path, group, config);
      endings[config] = [...new Set(rows.map(({ outcome, error }) => error?.code ?? outcome))];
    }
    return endings;
  }

  it('leave for no server that a spec names, whatever wrote the plan: live, in batches, of other lanes', async () => {
    const lanes = hostile(collector);

    const endings = await endingsOf(await plan(lanes, { more: 'background = true\n' }));

    expect(endings).toEqual(
      Object.fromEntries(Object.keys(lanes).map((lane) => [lane, ['key-withheld']])),
    );
    expect(collector.collected).toEqual([]);
  });

  it('are not sent to the server that a built-in lane is pointed at, which is called without', async () => {
    const seenBefore = collector.collected.length;

    const endings = await endingsOf(await plan({ openai: tableAt(collector) }));

    expect(endings).toEqual({ openai: ['scored'] });
    expect(collector.collected.length).toBeGreaterThan(seenBefore);
    expect(receivedSecrets(collector, secrets)).toEqual([]);
  });

  it('follow no redirect and no edit, nor do the webhook and its signature', async () => {
    const seenBefore = collector.collected.length;
    const key = 'api_key_env = "LAB_KEY"';
    const planned = await plan({ sim: tableAt(redirecting, key) }, { more: NOTIFY });
    await waitUntil('the webhook is told of the pause', () =>
      redirecting.collected.some((request) => request.startsWith('POST /hooks/')),
    );

    const edited = await plan({ sim: tableAt(collector, key) }, { more: NOTIFY, before: planned });
    const endings = await endingsOf(edited);

    expect(endings).toEqual({ sim: ['key-withheld'] });
    expect(receivedSecrets(redirecting, secrets)).toEqual(['LAB_KEY']);
    expect(redirecting.collected.join('\n')).toContain('webhook-signature');
    expect(collector.collected.slice(seenBefore)).toEqual([]);
  });

  it('go where the stack binds them', async () => {
    const endings = await endingsOf(await plan({ sim: tableAt(bound, 'api_key_env = "LAB_KEY"') }));

    expect(endings).toEqual({ sim: ['scored'] });
    expect(receivedSecrets(bound, secrets)).toEqual(['LAB_KEY']);
  });

  it('nor do those of a machine that works on a lane of the stage', async () => {
    const seenBefore = collector.collected.length;
    await using folder = await temporaryFolder();
    const key = (variable: string) => tableAt(collector, `api_key_env = "${variable}"`);
    const planned = await plan({ kimi: key('KIMI_API_KEY') });
    const other = await plan({ kimi: key('OWN_KEY') });

    await using work = startThrice(['work', '--stage', 'local', '--lane', 'kimi'], {
      cwd: folder.path,
      bin: shortLimitsCommand,
      environment: { ...cloud.variables, ...secrets },
    });
    const endings = [await endingsOf(planned), await endingsOf(other)];
    work.child.kill('SIGINT');
    await endOf(work);

    expect(endings).toEqual([{ kimi: ['key-withheld'] }, { kimi: ['key-withheld'] }]);
    expect(collector.collected.slice(seenBefore)).toEqual([]);
  });
});
