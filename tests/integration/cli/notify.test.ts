import { type Fault, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { readFiles } from '../../support/folder-files.ts';
import {
  type HttpServer,
  type ReceivedRequest,
  sendJson,
  startHttpServer,
} from '../../support/http-server.ts';
import { callThrice, groupOf } from '../../support/run-thrice.ts';
import { smallBenchmark } from '../../support/small-benchmark.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const HIDDEN_PATH = '/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX';

/** A benchmark of four questions on a lane with faults, which tells a webhook. */
async function open({
  faults = [],
  status = () => 200,
  top = '',
  isGone = false,
}: {
  readonly faults?: readonly Fault[];
  /** How the webhook answers its n-th request. */
  readonly status?: (count: number) => number;
  readonly top?: string;
  /** Whether the webhook has ended before anything begins. */
  readonly isGone?: boolean;
}) {
  const resources = new AsyncDisposableStack();
  const server: HttpServer = await startHttpServer((response) => {
    sendJson(response, 'ok', { status: status(server.requests.length) });
  });
  if (isGone) await server[Symbol.asyncDispose]();
  else resources.use(server);
  const lab = resources.use(await startSimulator({ faults: { seed: 1, faults: [...faults] } }));
  const notify = '[notify]\nwebhook_env = "HOOK"\nsecret_env = "HOOK_SECRET"\n';
  const folder = resources.use(
    await temporaryFolder(smallBenchmark({ url: lab.url, more: notify, top })),
  );
  const environment = {
    HOOK: server.url.replace('/v1', HIDDEN_PATH),
    HOOK_SECRET: SECRET,
  };
  const run = (...argv: string[]) => callThrice(argv, { cwd: folder.path, environment });
  return {
    server,
    lab,
    folder,
    environment,
    run,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function eventOf({ body }: ReceivedRequest): string {
  const { event_type: type } = body['metadata'] as { readonly event_type: string };
  return type;
}

function textOf(request: ReceivedRequest | undefined): string {
  return String(request?.body['text']);
}

describe('the webhook of a group', () => {
  it('is sent the user and password of its URL as a header, and they are stored nowhere', async () => {
    await using at = await open({});
    const url = new URL(at.environment.HOOK);
    [url.username, url.password] = ['thrice', 'correct%20horse'];

    const { exitCode } = await callThrice(['run', 'benchmark.toml'], {
      cwd: at.folder.path,
      environment: { ...at.environment, HOOK: url.href },
    });

    const [request] = at.server.requests;
    const files = [...(await readFiles(at.folder.path, 'latin1')).values()];
    expect(exitCode).toBe(0);
    expect(request?.headers['authorization']).toBe(`Basic ${btoa('thrice:correct horse')}`);
    expect(files.filter((text) => /correct(?: |%20)horse/.test(text))).toEqual([]);
  });

  it('is told of the end once, signed, and its URL and secret are stored nowhere', async () => {
    await using at = await open({});

    const ran = await at.run('run', 'benchmark.toml');
    const again = await at.run('resume', groupOf(ran));

    expect([ran.exitCode, again.exitCode]).toEqual([0, 0]);
    expect(at.server.requests.map(eventOf)).toEqual(['thrice_end']);
    const [request] = at.server.requests;
    expect(request?.path).toBe(HIDDEN_PATH);
    expect(textOf(request)).toMatch(new RegExp(`^${groupOf(ran)}: complete: 4 cells`));
    expect(request?.headers['webhook-signature']).toMatch(/^v1,[\w+/]{43}=$/);
    const files = await readFiles(at.folder.path, 'latin1');
    const leaks = [...files.values(), ran.stdout, ran.stderr].filter(
      (text) => text.includes(HIDDEN_PATH.slice(-12)) || text.includes(SECRET.slice(6, 18)),
    );
    expect(leaks).toEqual([]);
  });

  it('is told of a pause with lane, reason and the command that resumes it', async () => {
    await using at = await open({
      faults: [{ kind: 'quota', requests: [3] }],
      top: 'parallel = 1',
    });

    const ran = await at.run('run', 'benchmark.toml');
    const again = await at.run('resume', groupOf(ran));

    expect([ran.exitCode, again.exitCode]).toEqual([2, 2]);
    // The second attempt has brought nothing: it is the same pause.
    expect(at.server.requests.map(eventOf)).toEqual(['thrice_pause']);
    expect(textOf(at.server.requests[0])).toContain('paused at 2 of 4 cells; lane lab is blocked');
    expect(textOf(at.server.requests[0])).toContain(`thrice resume ${groupOf(ran)}`);
  });

  it('is told of failures before the end', async () => {
    await using at = await open({ faults: [{ kind: 'server-error' }], top: 'max_attempts = 1' });

    const ran = await at.run('run', 'benchmark.toml');

    expect(ran.exitCode).toBe(1);
    expect(at.server.requests.map(eventOf)).toEqual(['thrice_failure', 'thrice_end']);
  });

  it('changes nothing when it does not take a message: that is shown, and the next work sends it', async () => {
    await using at = await open({ status: (count) => (count <= 3 ? 500 : 200) });

    const ran = await at.run('run', 'benchmark.toml');
    const refusedCount = at.server.requests.length;
    const again = await at.run('resume', groupOf(ran));

    expect(ran.exitCode).toBe(0);
    expect(ran.stderr).toContain(
      'warning: [webhook-unavailable] not told the webhook of end: HOOK: 500 ok; the next work on the group sends it again\n',
    );
    expect([refusedCount, at.server.requests.length, again.exitCode]).toEqual([3, 4, 0]);
    expect(textOf(at.server.requests[3])).toBe(textOf(at.server.requests[0]));
    const ids = at.server.requests.map(({ headers }) => headers['webhook-id']);
    expect(new Set(ids).size).toBe(1);
  });

  it.each([302, 404])('is given up after status %i', async (status) => {
    await using at = await open({ status: () => status });

    const ran = await at.run('run', 'benchmark.toml');
    await at.run('resume', groupOf(ran));

    expect(ran.exitCode).toBe(0);
    expect(ran.stderr).toContain(
      `warning: [webhook-refused] not told the webhook of end: HOOK: ${status} ok\n`,
    );
    expect(at.server.requests).toHaveLength(1);
  });

  it('delays no call and changes nothing when there is no server behind its URL', async () => {
    await using at = await open({ isGone: true });

    const ran = await at.run('run', 'benchmark.toml');

    expect(ran.exitCode).toBe(0);
    expect(at.lab.stats().okCount).toBe(4);
    expect(ran.stderr).toMatch(
      /warning: \[webhook-unavailable\] not told the webhook of end: .*; the next work on the group sends it again\n/,
    );
  });

  it('is warned of if it is not encrypted, and runs all the same', async () => {
    await using lab = await startSimulator();
    // Told of nothing in this run: no test asks a server of others.
    const more = '[notify]\nwebhook_env = "HOOK"\non = ["budget"]\n';
    await using folder = await temporaryFolder(smallBenchmark({ url: lab.url, more }));
    const environment = { HOOK: `http://hooks.example.com${HIDDEN_PATH}` };

    const ran = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path, environment });

    expect(ran.exitCode).toBe(0);
    expect(ran.stderr).toContain(
      'warning: [plain-webhook] notify: expected an https URL in HOOK, received an http one of another machine: whoever is on the way can read the messages, and what is secret in the URL\n',
    );
    expect(ran.stderr).not.toContain(HIDDEN_PATH);
  });

  it('must be known before anything is asked', async () => {
    await using at = await open({});

    const ran = await callThrice(['run', 'benchmark.toml'], { cwd: at.folder.path });

    expect(ran.exitCode).toBe(69);
    expect(ran.stderr).toContain(
      'thrice: [missing-key] notify: expected a value in HOOK, found none',
    );
    expect(at.lab.stats().requestCount).toBe(0);
  });
});
