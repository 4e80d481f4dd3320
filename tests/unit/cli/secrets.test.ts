import { describe, expect, it } from 'vitest';
import {
  commandLineWithoutSecrets,
  refuseSecrets,
} from '../../../packages/cli/src/spec/secrets.ts';
import { aGroupHeader, aLane } from '../../support/builders.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

const names = {
  benchmark: { lanes: new Map([['lab', aLane({ apiKeyEnv: 'LAB_KEY' })]]) },
  spec: aGroupHeader().spec,
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
      environment: { LAB_KEY: 'the-key-of-the-lab' },
      commandLine: ['run', '--label=the-key-of-the-lab', 'sk-other0123456789abcdef', 'task-force'],
    });

    expect(commandLineWithoutSecrets(terminal, names)).toEqual([
      'run',
      '--label=[key]',
      '[key]',
      'task-force',
    ]);
  });
});
