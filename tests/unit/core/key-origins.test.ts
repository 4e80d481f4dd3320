import { describeWithheldKey, readLaneKey } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { bindKey } from '../../../packages/core/src/spec/builtin-lanes.ts';
import { aLane } from '../../support/builders.ts';

const LAB = 'https://lab.example.org:8443';
const keys = {
  lab: { variable: 'LAB_KEY', origins: [LAB] },
  openai: { variable: 'OPENAI_API_KEY', origins: ['https://api.openai.com'] },
  // As if somebody had widened it.
  gemini: { variable: 'GEMINI_API_KEY', origins: [LAB] },
};

function read(name: string, apiKeyEnv: string | undefined, ...endpoints: readonly string[]) {
  return readLaneKey(aLane({ name, apiKeyEnv, endpoints }), keys, (variable) => `of ${variable}`);
}

describe('the key of a lane of a stage', () => {
  it.each([
    ['lab', 'LAB_KEY', `${LAB}/v1`],
    ['lab', 'LAB_KEY', 'HTTPS://LAB.example.org:8443/other/v1'],
    ['openai', 'OPENAI_API_KEY', 'https://api.openai.com:443/v1'],
  ])('of %s is read as %s for %s', (name, variable, endpoint) => {
    expect(read(name, variable, endpoint)).toBe(`of ${variable}`);
  });

  it('is none for a lane that needs none, wherever that is', () => {
    expect(read('openai', undefined, 'http://elsewhere.example/v1')).toBe(undefined);
  });

  it.each([
    ['another host', 'openai', 'OPENAI_API_KEY', ['https://elsewhere.example/v1']],
    ['one host of several', 'lab', 'LAB_KEY', [`${LAB}/v1`, 'https://elsewhere.example/v1']],
    ['another port', 'lab', 'LAB_KEY', ['https://lab.example.org/v1']],
    ['no encryption', 'openai', 'OPENAI_API_KEY', ['http://api.openai.com/v1']],
    ['a subdomain', 'openai', 'OPENAI_API_KEY', ['https://x.api.openai.com/v1']],
    ['a longer name', 'openai', 'OPENAI_API_KEY', ['https://api.openai.com.example/v1']],
    ['a user', 'openai', 'OPENAI_API_KEY', ['https://api.openai.com:x@elsewhere.example/v1']],
    ['a backslash', 'openai', 'OPENAI_API_KEY', ['https://elsewhere.example\\@api.openai.com/v1']],
    ['a tab', 'openai', 'OPENAI_API_KEY', ['https://api.openai.com.ex\tample/v1']],
    ["another lane's", 'lab', 'OPENAI_API_KEY', ['https://api.openai.com/v1']],
    ['a lane without a key', 'sim', 'LAB_KEY', [`${LAB}/v1`]],
    ['a lane by the name of a method', 'constructor', 'LAB_KEY', [`${LAB}/v1`]],
    ['a vendor that others bound elsewhere', 'gemini', 'GEMINI_API_KEY', [`${LAB}/v1`]],
  ])('is withheld: %s', (_, name, variable, endpoints) => {
    expect(() => read(name, variable, ...endpoints)).toThrow(
      expect.objectContaining({
        code: 'key-withheld',
        class: 'rejected',
        details: { isUnsent: true },
      }),
    );
  });

  it('is withheld with a remedy', () => {
    const lane = { name: 'lab', endpoints: ['https://elsewhere.example/v1'] };

    expect(
      ['LAB_KEY', 'MY_KEY'].map((apiKeyEnv) => describeWithheldKey({ ...lane, apiKeyEnv }, keys)),
    ).toEqual([
      `lane "lab": expected a base_url at ${LAB}, where the stage sends LAB_KEY, received one at https://elsewhere.example; correct it, or give the server a lane with a key of its own in stacks/lanes.ts and deploy`,
      'lane "lab": expected api_key_env = "LAB_KEY", the key that the stage has for this lane, received "MY_KEY"; correct it, or set apiKeyEnv of the lane in stacks/lanes.ts and deploy',
    ]);
    expect(describeWithheldKey({ ...lane, name: 'sim', apiKeyEnv: 'LAB_KEY' }, keys)).toContain(
      'lane "sim": expected no api_key_env, because the stage has no key for this lane, received "LAB_KEY"',
    );
  });
});

describe('a key of stacks/lanes.ts', () => {
  it('is bound to its origins, by default those of its vendor', () => {
    const kimi = ['https://api.moonshot.ai', 'https://api.moonshot.cn'];

    expect(bindKey({ name: 'sim' })).toBe(undefined);
    expect(bindKey({ name: 'lab', ...keysOf('LAB_KEY', LAB) })).toEqual(keys.lab);
    expect(bindKey({ name: 'slow', apiKeyEnv: 'KIMI_API_KEY' })?.origins).toEqual(kimi);
    expect(bindKey({ name: 'cn', ...keysOf('KIMI_API_KEY', kimi[1]) })?.origins).toEqual([kimi[1]]);
  });

  it.each([
    ['nothing', { apiKeyEnv: 'LAB_KEY' }, 'as in https://lab.example.org:8443, received none'],
    ['a base URL', keysOf('LAB_KEY', `${LAB}/v1`), `received ${LAB}/v1`],
    ['a host', keysOf('LAB_KEY', 'lab.example.org'), 'received lab.example.org'],
    [
      'another vendor',
      keysOf('OPENAI_API_KEY', LAB),
      `lane lab: expected the origins that OPENAI_API_KEY may be sent to, https://api.openai.com, received ${LAB}`,
    ],
  ])('cannot be bound to %s', (_, key, message) => {
    expect(() => bindKey({ name: 'lab', ...key })).toThrow(message);
  });
});

function keysOf(apiKeyEnv: string, ...origins: readonly (string | undefined)[]) {
  return { apiKeyEnv, origins: origins.filter((origin) => origin !== undefined) };
}
