import { describe, expect, it } from 'vitest';
import {
  canaryKey,
  findLeaks,
  hookPath,
  hookSecret,
  startEchoingServer,
} from '../support/echoing-server.ts';
import { readFiles } from '../support/folder-files.ts';
import { aCompletion, sendJson, startHttpServer } from '../support/http-server.ts';
import { callThrice, startThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf } from '../support/wait-until.ts';

/** The codes of the failures that {@link startEchoingServer} answers with. */
const failureCodes = [
  'invalid-request',
  'model-unavailable',
  'truncated-response',
  'quota-exhausted',
  'auth-failed',
  'endpoint-unreachable',
  'wrong-served-model',
] as const;

/** One lane and config for each failure that blocks a lane; the first lane has answers, too. */
function failingBenchmark(url: string): ReturnType<typeof smallBenchmark> {
  const key = 'api_key_env = "LAB_KEY"';
  const more = ['denied', 'unpaid', 'unknown', 'other'].map(
    (name) =>
      `[lanes.${name}]\nbase_url = "${url}"\n${key}\n[[configs]]\nname = "${name}"\nmodel = "${name}/${name}"\nscorer = "includes"\n`,
  );
  const streamed = '[[configs]]\nname = "s"\nmodel = "lab/s"\nstream = true\nscorer = "includes"\n';
  const notify = '[notify]\nwebhook_env = "HOOK"\nsecret_env = "HOOK_SECRET"\n';
  return smallBenchmark({
    url,
    top: 'max_attempts = 2',
    lane: key,
    more: [streamed, ...more, notify].join(''),
  });
}

describe('the key of a lane', () => {
  it('is stored nowhere after failures of every class from a vendor that echoes it, encoded or not', async () => {
    await using server = await startEchoingServer();
    await using hook = await startHttpServer((response) => sendJson(response, 'ok'));
    await using folder = await temporaryFolder(failingBenchmark(server.url));
    const environment = {
      LAB_KEY: canaryKey,
      HOOK: hook.url.replace('/v1', hookPath),
      HOOK_SECRET: hookSecret,
    };

    await using thrice = startThrice(['run', 'benchmark.toml', '--json'], {
      cwd: folder.path,
      environment,
    });
    const { exitCode, stdout, stderr } = await endOf(thrice);
    const status = await callThrice(['status', '--json'], { cwd: folder.path, environment });
    const doctor = await callThrice(['doctor', 'benchmark.toml', '--json'], {
      cwd: folder.path,
      environment,
    });

    const keys = server.requests.map(({ headers }) => headers.authorization);
    expect(new Set(keys)).toEqual(new Set([`Bearer ${canaryKey}`]));
    expect(exitCode).toBe(2);
    const files = await readFiles(folder.path, 'latin1');
    const stored = [...files.values()].join('\n');
    expect(failureCodes.filter((code) => !stored.includes(code))).toEqual([]);
    expect(stored.includes('42 [key] [key]')).toBe(true);
    expect(hook.requests.length).toBeGreaterThan(0);
    const streams = [
      ...[stdout, stderr],
      ...[status, doctor].flatMap((outcome) => [outcome.stdout, outcome.stderr]),
      ...hook.requests.map(({ body }) => JSON.stringify(body)),
    ];
    expect(findLeaks([...files, ...streams.map((text) => ['a stream', text] as const)])).toEqual(
      [],
    );
  });

  it('is cut from the stored command line, and refused in what else is stored', async () => {
    await using server = await startHttpServer((response) => {
      sendJson(response, aCompletion({ content: '42' }, { model: 'a' }));
    });
    const given = { url: server.url, lane: 'api_key_env = "LAB_KEY"' };
    const pasted = smallBenchmark({ ...given, more: `prompt = "${canaryKey} {{question}}"` });
    await using folder = await temporaryFolder(smallBenchmark(given));
    await using other = await temporaryFolder(pasted);
    const environment = { LAB_KEY: canaryKey };
    // The key has a slash, so it is two folders.
    const dir = `${canaryKey}/../../sk-other-0123456789abcdef/../runs`;

    const refused = await callThrice(['run', 'benchmark.toml'], { cwd: other.path, environment });
    const ran = await callThrice(['run', 'benchmark.toml', '--dir', dir], {
      cwd: folder.path,
      environment,
    });

    expect(refused.exitCode).toBe(64);
    expect(refused.stderr).toContain('received the value of LAB_KEY, which would be stored');
    expect(ran.exitCode).toBe(0);
    const files = await readFiles(folder.path, 'latin1');
    const stored = [...files.values()].join('\n');
    expect(stored.includes('"[key]/../../[key]/../runs"')).toBe(true);
    const refusal = ['stderr', refused.stderr] as const;
    expect(findLeaks([...files, refusal])).toEqual([]);
    expect(stored.includes('sk-other')).toBe(false);
  });

  it('is read from .env where the shell has none, and copied nowhere', async () => {
    await using server = await startHttpServer((response) => {
      sendJson(response, aCompletion({ content: '42' }, { model: 'a' }));
    });
    await using folder = await temporaryFolder({
      ...smallBenchmark({ url: server.url, lane: 'api_key_env = "LAB_KEY"' }),
      '.env': `LAB_KEY=${canaryKey}\n`,
    });

    await using thrice = startThrice(['run', 'benchmark.toml', '--json'], { cwd: folder.path });
    const { exitCode, stdout, stderr } = await endOf(thrice);

    const keys = server.requests.map(({ headers }) => headers.authorization);
    expect(new Set(keys)).toEqual(new Set([`Bearer ${canaryKey}`]));
    expect(exitCode).toBe(0);
    const texts = [
      ...(await readFiles(folder.path, 'latin1')),
      ['stdout', stdout],
      ['stderr', stderr],
    ] as const;
    const copies = texts.filter(([, text]) => text?.includes(canaryKey.slice(0, 12)));
    expect(copies.map(([name]) => name)).toEqual(['.env']);
  });
});
