import { describe, expect, it } from 'vitest';
import {
  commandLineWithoutSecrets,
  refuseSecrets,
} from '../../../packages/cli/src/spec/secrets.ts';
import { aGroupHeader, aLane } from '../../support/builders.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

const names = {
  benchmark: { lanes: new Map([['lab', aLane({ apiKeyEnv: 'LAB_KEY' })]]) },
  spec: {
    ...aGroupHeader().spec,
    notify: { webhook_env: 'HOOK', secret_env: 'HOOK_SECRET', on: ['end' as const] },
  },
};
/** The value of each variable that a spec may name. */
const secrets = {
  LAB_KEY: 'the-key-of-the-lab',
  HOOK: 'https://hooks.example.org/services/T0000000',
  HOOK_SECRET: 'the-secret-of-the-webhook',
};

describe('a spec with the value of a variable that should be named only', () => {
  it.each([
    ['in a text', 'sk-0123456789abcdef', { prompt: 'sk-0123456789abcdef {{question}}' }],
    ['with a quotation mark', 'sk-"0123456789\\abc', ['sk-"0123456789\\abc']],
  ])('is refused: %s', (_, value, stored) => {
    const terminal = fakeTerminal({ environment: { LAB_KEY: value } });

    expect(() => refuseSecrets(names, { file: 'b.toml', stored, terminal })).toThrow(
      'b.toml: expected no key, received the value of LAB_KEY',
    );
  });

  it.each(Object.entries(secrets))('is refused for each that it names: %s', (name, value) => {
    const terminal = fakeTerminal({ environment: secrets });

    expect(() => refuseSecrets(names, { file: 'b.toml', stored: [value], terminal })).toThrow(
      `b.toml: expected no key, received the value of ${name}`,
    );
  });

  it('may have a placeholder, which is too short for a key', () => {
    const terminal = fakeTerminal({ environment: { LAB_KEY: 'EMPTY' } });

    expect(() =>
      refuseSecrets(names, { file: 'b.toml', stored: ['EMPTY'], terminal }),
    ).not.toThrow();
  });
});

describe('a stored command line', () => {
  it('has neither known keys nor what looks like one', () => {
    const terminal = fakeTerminal({
      environment: secrets,
      commandLine: [
        'run',
        ...Object.values(secrets).map((value) => `--label=${value}`),
        'sk-other0123456789abcdef',
        'task-force',
      ],
    });

    expect(commandLineWithoutSecrets(terminal, names)).toEqual([
      'run',
      ...Object.keys(secrets).map(() => '--label=[key]'),
      '[key]',
      'task-force',
    ]);
  });
});
