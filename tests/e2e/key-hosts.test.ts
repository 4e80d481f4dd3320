import { writeFile } from 'node:fs/promises';
import { builtinLanes } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { receivedSecrets, startCollectingServer } from '../support/collecting-server.ts';
import { benchmarkOn, keysOf, tableAt } from '../support/keyed-benchmark.ts';
import { callThrice, groupOf } from '../support/run-thrice.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SPEC = 'benchmark.toml';

/** Of the built-in lanes, and of a user's own. */
const secrets = keysOf('LAB_KEY');

/** The lines of a command about a vendor's key that goes to others. */
function tellings({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) {
  return `${stdout}\n${stderr}`.split('\n').filter((line) => line.includes('vendor-key-elsewhere'));
}

describe('a key on one machine', () => {
  it('of a vendor is not sent to the host that a built-in lane is pointed at, by calls, batches and checks', async () => {
    await using collector = await startCollectingServer('refuses the key');
    const names = Object.keys(builtinLanes);
    const live = Object.fromEntries(names.map((name) => [name, tableAt(collector)]));
    const batched = Object.fromEntries(
      names.map((name) => [name, tableAt(collector, 'batch = true')]),
    );
    await using folder = await temporaryFolder(benchmarkOn(live));
    const surroundings = { cwd: folder.path, environment: secrets };

    const ran = await callThrice(['run', SPEC], surroundings);
    const checked = await callThrice(['doctor', SPEC], surroundings);
    await writeFile(folder.resolve(SPEC), benchmarkOn(batched)[SPEC]);
    const sent = await callThrice(['run', SPEC], surroundings);

    expect([ran.exitCode, checked.exitCode, sent.exitCode]).toEqual([2, 69, 2]);
    const text = collector.collected.join('\n');
    for (const path of ['/chat/completions', '/messages', '/models', '/files', '/messages/batches'])
      expect(text).toContain(`/v1${path}\n`);
    expect(receivedSecrets(collector, secrets)).toEqual([]);
    expect([ran, checked, sent].flatMap(tellings)).toEqual([]);
  });

  it('of a vendor goes to another host if the lane of the spec names its variable, and run and doctor say so once', async () => {
    await using collector = await startCollectingServer('answers');
    const table = tableAt(collector, 'api_key_env = "OPENAI_API_KEY"\n');
    await using folder = await temporaryFolder(
      benchmarkOn({ openai: table, proxy: tableAt(collector, 'api_key_env = "LAB_KEY"') }),
    );
    const surroundings = { cwd: folder.path, environment: secrets };

    const ran = await callThrice(['run', SPEC], surroundings);
    const checked = await callThrice(['doctor', SPEC], surroundings);

    expect(receivedSecrets(collector, secrets)).toEqual(['OPENAI_API_KEY', 'LAB_KEY']);
    const said = `lanes.openai.api_key_env: OPENAI_API_KEY goes to ${collector.origin}, which is not the vendor's (https://api.openai.com)`;
    for (const lines of [tellings(ran), tellings(checked)]) {
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain(said);
    }
  });

  it('stays behind when an edit points its lane elsewhere', async () => {
    await using first = await startCollectingServer('refuses the key');
    await using collector = await startCollectingServer('answers');
    await using folder = await temporaryFolder(benchmarkOn({ openai: tableAt(first) }));
    const surroundings = { cwd: folder.path, environment: secrets };
    const ran = await callThrice(['run', SPEC], surroundings);
    await writeFile(folder.resolve(SPEC), benchmarkOn({ openai: tableAt(collector) })[SPEC]);

    const resumed = await callThrice(['resume', groupOf(ran), '--spec', SPEC], surroundings);

    expect(resumed.exitCode).toBe(0);
    expect(collector.collected).toHaveLength(2);
    expect([first, collector].flatMap((server) => receivedSecrets(server, secrets))).toEqual([]);
  });

  it('does not follow a redirect, nor do a webhook and its signature', async () => {
    await using collector = await startCollectingServer('answers');
    await using server = await startCollectingServer({ redirectTo: collector.origin });
    const key = 'api_key_env = "LAB_KEY"\n';
    const notify = '[notify]\nwebhook_env = "HOOK"\nsecret_env = "HOOK_SECRET"\n';
    const lanes = {
      live: tableAt(server, key),
      batched: tableAt(server, `${key}batch = true`),
      messages: tableAt(server, `${key}protocol = "anthropic"\nbatch = true`),
      kept: tableAt(server, `${key}protocol = "responses"`),
    };
    await using folder = await temporaryFolder(benchmarkOn(lanes, `background = true\n${notify}`));
    const environment = {
      LAB_KEY: secrets['LAB_KEY'] ?? '',
      HOOK: `${server.origin}/hooks/T0000000`,
      HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    };
    const surroundings = { cwd: folder.path, environment };

    const ran = await callThrice(['run', SPEC], surroundings);
    const checked = await callThrice(['doctor', SPEC], surroundings);

    expect([ran.exitCode, checked.exitCode]).toEqual([2, 69]);
    expect(receivedSecrets(server, environment)).toEqual(['LAB_KEY']);
    const text = server.collected.join('\n');
    for (const path of [
      ...['/v1/chat/completions', '/v1/files', '/v1/messages/batches', '/v1/responses'],
      ...['/v1/models', '/hooks/T0000000'],
    ])
      expect(text).toContain(` ${path}\n`);
    expect(text).toContain('webhook-signature');
    expect(collector.collected).toEqual([]);
  });

  it('is not what a webhook is told at, or signed with in the clear', async () => {
    await using collector = await startCollectingServer('answers');
    await using folder = await temporaryFolder(
      benchmarkOn(
        { lab: tableAt(collector) },
        '[notify]\nwebhook_env = "HOOK"\nsecret_env = "OPENAI_API_KEY"\n',
      ),
    );
    const environment = { ...secrets, HOOK: `${collector.origin}/hook` };

    const ran = await callThrice(['run', SPEC], { cwd: folder.path, environment });

    expect(ran.exitCode).toBe(0);
    expect(collector.collected.join('\n')).toContain('POST /hook\n');
    expect(receivedSecrets(collector, secrets)).toEqual([]);
  });
});
