import { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../packages/cli/src/main.ts';
import {
  describeFailure,
  type FailureDocument,
  failureToJson,
} from '../../../packages/cli/src/render/failure-text.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

describe('an error that ends a command', () => {
  it('has its code in square brackets, on each of its lines', () => {
    const error = new ThriceError({ code: 'invalid-spec', message: 'a.toml: one\na.toml: two' });

    expect(describeFailure(error)).toEqual([
      'thrice: [invalid-spec] a.toml: one',
      'thrice: [invalid-spec] a.toml: two',
    ]);
  });

  it('has its parts in JSON', () => {
    const message = '--stage: expected a name, received none; deploy one; then try again';
    const error = new ThriceError({ code: 'invalid-argument', message });

    expect(failureToJson(error)).toEqual({
      error: {
        code: 'invalid-argument',
        class: 'input',
        message,
        where: '--stage',
        expected: 'a name',
        received: 'none',
        remedy: 'deploy one; then try again',
      },
    });
  });

  it('has in JSON what was found, too', () => {
    const message = 'config "a": expected a key in LAB_KEY, found none\nset it';
    const error = new ThriceError({ code: 'missing-key', message });

    expect(failureToJson(error).error).toMatchObject({
      expected: 'a key in LAB_KEY',
      received: 'none',
    });
  });

  it('has null in JSON for parts that its message does not have', () => {
    const error = new ThriceError({ code: 'invalid-file', message: 'a.toml: no such file' });

    expect(failureToJson(error).error).toMatchObject({
      where: null,
      expected: null,
      received: null,
      remedy: null,
    });
  });

  it.each([
    { argv: ['run', '--json'], message: /^missing required argument 'spec'/ },
    { argv: ['nowhere', '--json'], message: "unknown command 'nowhere'" },
    { argv: ['run', 'a.toml', '--lable', '--json'], message: /--lable.*Did you mean --label/ },
  ])(
    'is one JSON document of a command line that asks for it: $argv',
    async ({ argv, message }) => {
      const terminal = fakeTerminal();

      const exitCode = await runCommand(argv, terminal);

      expect(exitCode).toBe(64);
      const { error } = JSON.parse(terminal.stdout) as FailureDocument;
      expect(error.code).toBe('invalid-argument');
      expect(error.message).toMatch(message);
      expect(terminal.stderr).toMatch(/^thrice: \[invalid-argument\] .*\n$/);
    },
  );

  it('is not reported for help that was asked for', async () => {
    const terminal = fakeTerminal();

    expect(await runCommand(['run', '--help'], terminal)).toBe(0);
    expect(terminal.stderr).toBe('');
  });
});
