import {
  type BenchmarkSpec,
  parseSpec,
  resolveBenchmark,
  ThriceError,
  withSimulator,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { defaultName } from '../../../packages/core/src/spec/resolve-benchmark.ts';
import { aCombination } from '../../support/builders.ts';

describe('a resolved benchmark', () => {
  it('has the settings of its spec', () => {
    const spec = specOf({
      name: 'demo',
      replicates: 3,
      parallel: 9,
      max_attempts: 2,
      coverage_floor: 0.5,
      prices: { 'openai/gpt-5.2': { input: 1, output: 2 } },
    });

    const benchmark = resolveBenchmark(spec, 'bench/demo.toml');

    expect(benchmark).toMatchObject({
      name: 'demo',
      replicates: 3,
      parallel: 9,
      maxAttempts: 2,
      coverageFloor: 0.5,
    });
    expect(benchmark.prices.get('openai/gpt-5.2')).toEqual({ input: 1, output: 2 });
  });

  it.each<[string, string, string | undefined, number | undefined]>([
    ['the price of its built-in lane', 'openai/gpt-5.2-2025-12-11', undefined, 1.75],
    ['the same behind a proxy', 'openai/gpt-5.2', 'http://127.0.0.1:9/v1', 1.75],
    [
      'the same through a lane of its own name',
      'second/gpt-5.2',
      'https://api.openai.com/v1',
      1.75,
    ],
    [
      'none at an address that bills otherwise',
      'kimi/kimi-k3',
      'https://api.moonshot.cn/v1',
      undefined,
    ],
    ['none of another server', 'lab/gpt-5.2', 'http://127.0.0.1:9/v1', undefined],
    ['none that is not listed', 'openai/gpt-99', undefined, undefined],
  ])('gives a model %s: %s', (_, model, address, input) => {
    const lane = model.slice(0, model.indexOf('/'));
    const lanes = address === undefined ? {} : { [lane]: { base_url: address } };
    const spec = specOf({ lanes, configs: [{ name: 'a', model }] });

    expect(resolveBenchmark(spec, 'demo.toml').prices.get(model)?.input).toBe(input);
  });

  it.each([
    ['openai', 'https://api.openai.com/v1', 'OPENAI_API_KEY', 'max_completion_tokens'],
    ['anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY', 'max_tokens', 'anthropic'],
    [
      'gemini',
      'https://generativelanguage.googleapis.com/v1beta/openai',
      'GEMINI_API_KEY',
      'max_tokens',
    ],
    ['kimi', 'https://api.moonshot.ai/v1', 'KIMI_API_KEY', 'max_tokens'],
    ['deepseek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY', 'max_tokens'],
    ['grok', 'https://api.x.ai/v1', 'GROK_API_KEY', 'max_tokens'],
    ['mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY', 'max_tokens'],
  ])('knows the lane %s', (lane, url, apiKeyEnv, maxTokensField, protocol = 'chat') => {
    const spec = specOf({ configs: [{ name: 'a', model: `${lane}/some/model` }] });

    const benchmark = resolveBenchmark(spec, 'demo.toml');

    expect(benchmark.configs[0]).toMatchObject({ lane, model: 'some/model' });
    expect(benchmark.lanes.get(lane)).toEqual({
      name: lane,
      protocol,
      endpoints: [url],
      apiKeyEnv,
      maxConcurrency: undefined,
      timeoutMs: 120_000,
      maxTokensField,
      servedModel: 'pin',
    });
  });

  it.each([
    ['no key', ['http://127.0.0.1:9/v1'], undefined, undefined],
    [
      'no key',
      ['https://api.moonshot.ai/v1', 'https://elsewhere.example/v1'],
      undefined,
      undefined,
    ],
    ['the key', ['https://api.moonshot.cn/v1'], undefined, 'KIMI_API_KEY'],
    ['the key', ['http://127.0.0.1:9/v1'], 'KIMI_API_KEY', 'KIMI_API_KEY'],
  ])('takes %s of the built-in lane to %j with api_key_env %s', (_, endpoints, named, variable) => {
    const lane = { endpoints, ...(named !== undefined && { api_key_env: named }) };
    const spec = specOf({ lanes: { kimi: lane }, configs: [{ name: 'a', model: 'kimi/k2' }] });

    expect(resolveBenchmark(spec, 'demo.toml').lanes.get('kimi')?.apiKeyEnv).toBe(variable);
  });

  it("overrides a built-in lane with the spec's settings", () => {
    const spec = specOf({
      lanes: {
        openai: {
          base_url: 'http://127.0.0.1:9/v1//',
          api_key_env: 'MY_KEY',
          timeout_s: 1.5,
          served_model: 'warn',
          max_concurrency: 3,
          rpm: 600,
          tpm: 90_000,
          max_tokens_field: 'max_tokens',
        },
      },
    });

    const benchmark = resolveBenchmark(spec, 'demo.toml');

    expect(benchmark.lanes.get('openai')).toEqual({
      name: 'openai',
      protocol: 'chat',
      endpoints: ['http://127.0.0.1:9/v1'],
      apiKeyEnv: 'MY_KEY',
      maxConcurrency: 3,
      requestsPerMinute: 600,
      tokensPerMinute: 90_000,
      timeoutMs: 1_500,
      maxTokensField: 'max_tokens',
      servedModel: 'warn',
    });
  });

  it('has only the lanes that its configs use', () => {
    const spec = specOf({ lanes: { spare: { base_url: 'http://127.0.0.1:9/v1' } } });

    const benchmark = resolveBenchmark(spec, 'demo.toml');

    expect([...benchmark.lanes.keys()]).toEqual(['openai']);
  });

  it('uses the bundled simulator for lane sim, which needs no key', () => {
    const spec = specOf({ configs: [{ name: 'a', model: 'sim/m' }] });

    const benchmark = withSimulator(
      resolveBenchmark(spec, 'demo.toml'),
      'http://127.0.0.1:1800/v1',
    );

    expect(benchmark.lanes.get('sim')).toMatchObject({
      protocol: 'chat',
      endpoints: ['http://127.0.0.1:1800/v1'],
      apiKeyEnv: undefined,
    });
  });

  it('has its configs in resolved form', () => {
    const spec = specOf({
      configs: [
        {
          name: 'a',
          model: 'openai/gpt-5.2',
          system: 'Be brief.',
          prompt: '{{question}}',
          temperature: 1,
          max_tokens: 9,
          top_p: 1,
          seed: 7,
          stop: 'END',
          service_tier: 'flex',
          reasoning_effort: 'low',
          stream: true,
          extra_body: { top_k: 1 },
          served_model: 'allow',
          scorer: 'near',
          select: { limit: 2 },
        },
        { name: 'b', model: 'openai/gpt-5.2', scorer: 'numeric' },
      ],
      scorers: { near: { kind: 'numeric', tolerance: 0.5 } },
    });

    const { configs } = resolveBenchmark(spec, 'demo.toml');

    const asked = {
      lane: 'openai',
      model: 'gpt-5.2',
      system: 'Be brief.',
      prompt: '{{question}}',
      temperature: 1,
      maxTokens: 9,
      topP: 1,
      seed: 7,
      stop: ['END'],
      serviceTier: 'flex',
      reasoningEffort: 'low',
      isStreamed: true,
      isBackground: false,
      extraBody: { top_k: 1 },
    };
    const scorer = { kind: 'numeric', tolerance: 0.5, relative_tolerance: 0 };
    expect(configs[0]).toEqual({
      ...asked,
      name: 'a',
      solver: 'direct',
      roles: [{ step: 'answer', ...asked }],
      combination: aCombination({ scorer }),
      servedModel: 'allow',
      scorer,
      grading: 1,
      select: { start: 0, limit: 2 },
    });
    // As a stored group resolves it, without knowing the scorers.
    expect(configs[1]?.scorer).toEqual({ kind: 'numeric' });
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'two configs with the same name',
      {
        configs: [
          { name: 'a', model: 'openai/x' },
          { name: 'b', model: 'openai/x' },
          { name: 'a', model: 'openai/y' },
        ],
      },
      'configs[2].name: "a" is configs[0] already; rename one of them',
    ],
    [
      'an unknown lane',
      { configs: [{ name: 'a', model: 'opnai/x' }] },
      'configs.a.model: unknown lane "opnai"; did you mean "openai"? (expected one of openai, anthropic, gemini, kimi, deepseek, grok, mistral, or a [lanes.opnai] table with its base_url)',
    ],
    [
      'an unknown scorer',
      { configs: [{ name: 'a', model: 'openai/x', scorer: 'exac' }] },
      'configs.a.scorer: unknown scorer "exac"; did you mean "exact"? (expected exact, choice, includes, bbh, numeric, keyword, json, or the name of a [scorers.NAME] table)',
    ],
    [
      'a scorer that needs a table of its own',
      { configs: [{ name: 'a', model: 'openai/x', scorer: 'regex' }] },
      'configs.a.scorer: expected the name of a [scorers.NAME] table for "regex", received the kind alone; write [scorers.mine] with kind = "regex" and its parameters, then scorer = "mine"',
    ],
    [
      'a scorer named like a property of every object',
      { configs: [{ name: 'a', model: 'openai/x', scorer: 'constructor' }] },
      'configs.a.scorer: unknown scorer "constructor" (expected exact, choice, includes, bbh, numeric, keyword, json, or the name of a [scorers.NAME] table)',
    ],
    [
      'a prompt given twice',
      { configs: [{ name: 'a', model: 'openai/x', prompt: '{{question}}', prompt_file: 'p.txt' }] },
      'configs.a.prompt_file: expected either prompt or prompt_file, received both',
    ],
    [
      'a field that no question has',
      { configs: [{ name: 'a', model: 'openai/x', prompt: '{{qestion}}' }] },
      'configs.a.prompt: unknown field {{qestion}}; did you mean {{question}}? (expected question, messages, choices, tags.NAME or metadata.NAME)',
    ],
    [
      'a lane without an endpoint',
      { lanes: { lab: {} } },
      'lanes.lab: expected base_url or endpoints, received neither',
    ],
    [
      'endpoints given twice',
      { lanes: { lab: { base_url: 'http://x/v1', endpoints: ['http://y/v1'] } } },
      'lanes.lab.endpoints: expected either base_url or endpoints, received both',
    ],
    [
      'faults on a real lane',
      { lanes: { openai: { faults: 'faults.json' } } },
      'lanes.openai: behaviour and faults are for lane "sim" only; leave them out',
    ],
    [
      'columns of a dataset',
      { questions: { dataset: 'gsm8k' }, columns: { question: 'q' } },
      'columns: expected question files, received the dataset "gsm8k", whose columns are known; leave it out',
    ],
  ])('is rejected for %s', (_, document, problem) => {
    const error = refusalOf(specOf(document));

    expect(error.code).toBe('invalid-spec');
    expect(error.message).toBe(`demo.toml: ${problem}`);
    expect(error.details.problems).toEqual([problem]);
  });
});

describe("a benchmark's name", () => {
  it("is the file's stem if the spec has none", () => {
    expect(resolveBenchmark(specOf({}), '/bench/HLE gold.v2.toml').name).toBe('hle-gold-v2');
  });

  it.each([
    ['demo.toml', 'demo'],
    ['/a/b/Hle_Gold.json', 'hle_gold'],
    ['a b&c.toml', 'a-b-c'],
    ['--x.toml', 'x'],
    ['_.toml', 'benchmark'],
    ['.toml', 'benchmark'],
    ['ü.toml', 'benchmark'],
    [`${'x'.repeat(80)}.toml`, 'x'.repeat(64)],
  ])('for the file %s is %s', (file, name) => {
    expect(defaultName(file)).toBe(name);
  });
});

function specOf(document: Record<string, unknown>): BenchmarkSpec {
  const configs = [{ name: 'a', model: 'openai/gpt-5.2' }];
  return parseSpec({ questions: 'questions.jsonl', configs, ...document }, 'demo.toml');
}

function refusalOf(spec: BenchmarkSpec): ThriceError {
  try {
    resolveBenchmark(spec, 'demo.toml');
  } catch (error) {
    if (error instanceof ThriceError) return error;
    throw error;
  }
  throw new Error('expected a refusal');
}
