import { type SimulatorOptions, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../packages/cli/src/main.ts';
import { aCompletion, sendJson, startHttpServer } from '../../support/http-server.ts';
import { fakeTerminal, runThrice } from '../../support/run-thrice.ts';
import { smallBenchmark } from '../../support/small-benchmark.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A mistake in a benchmark, and what `doctor` says about it. */
interface Mistake {
  /** Of the simulator. */
  readonly server?: SimulatorOptions;
  /** Replaces the simulator's address. */
  readonly url?: string;
  readonly benchmark?: Omit<Parameters<typeof smallBenchmark>[0], 'url'>;
  readonly question?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly descriptorLimit?: number;
  readonly says: readonly string[];
}

const sureConfig =
  '[[configs]]\nname = "a"\nmodel = "lab/a"\nscorer = "includes"\nconfidence = true\n';
const secondModel = { seed: 1, models: { b: { accuracy: 1 } } };

const mistakes: Readonly<Record<string, Mistake>> = {
  'a missing key': {
    benchmark: { lane: 'api_key_env = "LAB_KEY"' },
    says: [
      'FAIL lane lab: expected a key in LAB_KEY, found none; set it in the shell or in ./.env, or skip its configs with --skip-missing-keys',
    ],
  },
  'a wrong key': {
    server: { faults: { seed: 1, faults: [{ kind: 'unauthorized', model: 'a' }] } },
    benchmark: { lane: 'api_key_env = "LAB_KEY"' },
    environment: { LAB_KEY: 'sk-wrong-0123456789' },
    says: ['[auth-failed]', 'set the right key in the variable that api_key_env names'],
  },
  'a key that no server takes': {
    benchmark: { lane: 'api_key_env = "LAB_KEY"' },
    environment: { LAB_KEY: '"sk-0123456789"' },
    says: ['expected a key in LAB_KEY, received a text between quotation marks; leave them out'],
  },
  'an unknown model': {
    server: { behaviour: secondModel },
    says: ['does not list model "a" of config "a"; correct model', '[unknown-model] 404'],
  },
  'an unreachable endpoint': {
    url: 'http://127.0.0.1:1/v1',
    says: [
      'FAIL lane lab, http://127.0.0.1:1/v1: connect ECONNREFUSED 127.0.0.1:1; correct base_url',
      '[connection-failed] connect ECONNREFUSED 127.0.0.1:1; check base_url, the network, and that the server runs',
    ],
  },
  'a model that answers with another model': {
    server: {
      faults: { seed: 1, faults: [{ kind: 'wrong-model', model: 'a', servedModel: 'cheaper' }] },
    },
    says: [
      'FAIL lane lab, model a: [wrong-served-model] expected an answer of "a", received one of "cheaper"; request the model by the name it is served under',
    ],
  },
  'a model that refuses structured output': {
    server: {
      behaviour: { seed: 1, models: { a: { accuracy: 1, refusesStructuredOutput: 'vllm' } } },
    },
    benchmark: { configs: [], more: sureConfig },
    says: [
      'FAIL lane lab, model a: [structured-output-refused] 400 The provided JSON schema',
      'add the model to tagged_text of its lane, so that it is asked for the confidence in the text',
    ],
  },
  'a context window too small for the longest question': {
    benchmark: { configs: ['gpt-4'] },
    question: 'word '.repeat(20_000),
    says: ['expected prompts within the 8192 tokens of "gpt-4"', 'for question "long"; shorten it'],
  },
  'a context window too small for a model of a cascade': {
    benchmark: {
      configs: [],
      more: '[[configs]]\nname = "c"\nsolver = "cascade"\nmembers = [{ model = "lab/a" }, { model = "lab/b" }]\nescalate = { model = "lab/gpt-4" }\nscorer = "includes"\n',
    },
    question: 'word '.repeat(20_000),
    says: ['expected prompts within the 8192 tokens of "gpt-4"'],
  },
  'a descriptor limit too low for the concurrency': {
    benchmark: { top: 'parallel = 500' },
    descriptorLimit: 256,
    says: [
      'FAIL file descriptors: expected at least 564 for 500 calls in flight, received a limit of 256; raise it with "ulimit -n 564", or lower parallel or max_concurrency',
    ],
  },
  'a variable of [notify] that is not set': {
    benchmark: { more: '[notify]\nwebhook_env = "HOOK_URL"\n' },
    says: ['FAIL notify: expected a value in HOOK_URL, found none; set it in the shell'],
  },
  'a price missing under a budget': {
    benchmark: { top: 'budget_usd = 1' },
    says: ['FAIL benchmark.toml: [invalid-spec] configs.a.model: ', 'add [prices."lab/a"]'],
  },
};

describe('thrice doctor', () => {
  it.each(Object.entries(mistakes))('finds %s, with the remedy', async (_mistake, given) => {
    const { server, url, benchmark, question, environment, descriptorLimit, says } = given;
    await using simulator = await startSimulator(server ?? {});
    const files = smallBenchmark({ url: url ?? simulator.url, ...benchmark });
    const long = { id: 'long', question, target: '42' };
    await using folder = await temporaryFolder({
      ...files,
      ...(question !== undefined && { 'questions.jsonl': `${JSON.stringify(long)}\n` }),
    });
    const terminal = fakeTerminal({
      workingFolder: folder.path,
      ...(environment !== undefined && { environment }),
      descriptorLimit,
    });

    const exitCode = await runCommand(['doctor', 'benchmark.toml'], terminal);

    for (const text of says) expect(terminal.stdout).toContain(text);
    expect(exitCode).toBe(69);
  });

  it.each([60, 80, 120])('breaks no word on a terminal of %i columns', async (columns) => {
    await using folder = await temporaryFolder(
      smallBenchmark({
        url: 'http://127.0.0.1:1/v1',
        lane: 'api_key_env = "LAB_KEY"',
        more: '[notify]\nwebhook_env = "HOOK_URL"\n',
      }),
    );
    const doctor = async (shown: Parameters<typeof fakeTerminal>[0]) => {
      const environment = { LAB_KEY: 'sk-0123456789', HOOK_URL: 'http://hooks.example.com/x' };
      const terminal = fakeTerminal({ workingFolder: folder.path, environment, ...shown });
      await runCommand(['doctor', 'benchmark.toml'], terminal);
      return terminal;
    };

    const shown = await doctor({ isInteractive: true, columns, printColumns: columns });
    const logged = await doctor({});

    const lines = (shown.stdout + shown.stderr).split('\n');
    expect(lines.every(({ length }) => length <= columns)).toBe(true);
    // The lines of a finding stand right of its label.
    expect(shown.stdout.replaceAll('\n     ', ' ')).toBe(logged.stdout);
    expect(shown.stderr.replaceAll('\n  ', ' ')).toBe(logged.stderr);
  });

  it.each([
    ['lists others', 200, { data: [{ id: 'b' }] }],
    ['has no list', 404, { error: { message: 'Not Found' } }],
    ['sends something else for a list', 200, []],
  ])('has one word for a model that answers, although its server %s', async (_, status, list) => {
    await using server = await startHttpServer((response, { path }) => {
      if (path.endsWith('/models')) sendJson(response, list, { status });
      else sendJson(response, aCompletion({ content: 'OK' }, { model: 'a' }));
    });
    await using folder = await temporaryFolder(smallBenchmark({ url: server.url }));
    const terminal = fakeTerminal({ workingFolder: folder.path });

    const exitCode = await runCommand(['doctor', 'benchmark.toml'], terminal);

    expect(terminal.stdout.match(/^(?!ok ).+$/gm)).toEqual(null);
    expect(terminal.stdout).toContain('ok   lane lab, model a: answered by a');
    expect(exitCode).toBe(0);
  });

  it('finds a context window that only the server states', async () => {
    await using server = await startHttpServer((response) => {
      sendJson(response, { data: [{ id: 'a', max_model_len: 2 }] });
    });
    await using folder = await temporaryFolder(smallBenchmark({ url: server.url }));
    const terminal = fakeTerminal({ workingFolder: folder.path });

    await runCommand(['doctor', 'benchmark.toml'], terminal);

    expect(terminal.stdout).toContain(
      `expected prompts within the 2 tokens of "a" (${server.url})`,
    );
  });

  it('warns of a server that takes the schema of an output and ignores it', async () => {
    await using server = await startHttpServer((response) => {
      sendJson(response, aCompletion({ content: 'OK' }, { model: 'a' }));
    });
    const benchmark = { url: server.url, configs: [], more: sureConfig };
    await using folder = await temporaryFolder(smallBenchmark(benchmark));
    const terminal = fakeTerminal({ workingFolder: folder.path });

    const exitCode = await runCommand(['doctor', 'benchmark.toml'], terminal);

    expect(terminal.stdout).toMatch(
      /^warn lane lab, model a: \[structured-output-refused\] expected JSON .*; add the model to tagged_text/m,
    );
    expect(exitCode).toBe(0);
  });

  it('asks in tags for a confidence where the spec says so', async () => {
    await using simulator = await startSimulator({
      behaviour: { seed: 1, models: { a: { accuracy: 1, refusesStructuredOutput: 'ollama' } } },
    });
    const benchmark = { configs: [], more: sureConfig, lane: 'tagged_text = ["a"]' };
    await using folder = await temporaryFolder(
      smallBenchmark({ url: simulator.url, ...benchmark }),
    );
    const terminal = fakeTerminal({ workingFolder: folder.path });

    const exitCode = await runCommand(['doctor', 'benchmark.toml'], terminal);

    expect(terminal.stdout).toContain('ok   lane lab, model a: answered by a');
    expect(exitCode).toBe(0);
  });

  it('warns of another model where the benchmark allows it', async () => {
    await using simulator = await startSimulator({
      faults: { seed: 1, faults: [{ kind: 'wrong-model', model: 'a', servedModel: 'cheaper' }] },
    });
    const lane = 'served_model = "warn"';
    await using folder = await temporaryFolder(smallBenchmark({ url: simulator.url, lane }));
    const terminal = fakeTerminal({ workingFolder: folder.path });

    const exitCode = await runCommand(['doctor', 'benchmark.toml'], terminal);

    expect(terminal.stdout).toContain('warn lane lab, model a: [wrong-served-model]');
    expect(exitCode).toBe(0);
  });

  it('says before its calls what they may take', async () => {
    const said: string[] = [];
    const terminal = fakeTerminal();
    await using server = await startHttpServer((response, { path }) => {
      if (path.endsWith('/chat/completions')) said.push(terminal.stderr);
      sendJson(response, { data: [{ id: 'a' }, { id: 'b' }] });
    });
    const files = smallBenchmark({ url: server.url, configs: ['a', 'b'] });
    const limited = files['benchmark.toml'].replace('name = "a"', 'name = "a"\nmax_tokens = 100');
    await using folder = await temporaryFolder({ ...files, 'benchmark.toml': limited });

    await runCommand(['doctor', folder.resolve('benchmark.toml')], terminal);

    const line =
      'one call to each of 2 models: about 40 tokens in, at most 100 out; without a limit (max_tokens): lab/b\n';
    expect(said).toEqual([line, line]);
  });

  it('warns of a webhook that is not encrypted', async () => {
    await using simulator = await startSimulator();
    const more = '[notify]\nwebhook_env = "HOOK_URL"\n';
    await using folder = await temporaryFolder(smallBenchmark({ url: simulator.url, more }));
    const environment = { HOOK_URL: 'http://hooks.example.com/T0/secret' };
    const terminal = fakeTerminal({ workingFolder: folder.path, environment });

    const exitCode = await runCommand(['doctor', 'benchmark.toml'], terminal);

    expect(terminal.stdout).toContain(
      'warn notify: expected an https URL in HOOK_URL, received an http one of another machine',
    );
    expect(terminal.stdout).not.toContain('T0');
    expect(exitCode).toBe(0);
  });

  it('shows what its call to a model has cost', async () => {
    await using simulator = await startSimulator();
    const more = '[prices."lab/a"]\ninput = 1000\noutput = 1000\n';
    await using folder = await temporaryFolder(smallBenchmark({ url: simulator.url, more }));
    const terminal = fakeTerminal({ workingFolder: folder.path });

    await runCommand(['doctor', 'benchmark.toml'], terminal);

    expect(terminal.stdout).toContain('6 + 5 tokens, $0.0110, finish reason stop');
  });

  it('reads the descriptor limit of its own process', async () => {
    await using simulator = await startSimulator();
    const files = smallBenchmark({ url: simulator.url, top: 'parallel = 500' });
    await using folder = await temporaryFolder(files);

    const { exitCode, stdout } = await runThrice(['doctor', 'benchmark.toml'], {
      cwd: folder.path,
      shell: 'ulimit -n 200; exec "$@"',
    });

    expect(stdout).toContain('received a limit of 200; raise it');
    expect(exitCode).toBe(69);
  });
});
