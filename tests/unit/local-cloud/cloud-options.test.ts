import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../../packages/local-cloud/src/cloud-options.ts';

describe('parseOptions', () => {
  it('has no command by default', () => {
    expect(parseOptions([])).toEqual({
      tickSeconds: undefined,
      functionVariables: {},
      logPath: undefined,
      stackPath: undefined,
      command: undefined,
    });
  });

  it('passes all arguments after exec to the command', () => {
    const argv = ['--tick-seconds', '0.5', 'exec', 'thrice', 'run', '--log', 'x', 'exec'];

    expect(parseOptions(argv)).toMatchObject({
      tickSeconds: 0.5,
      logPath: undefined,
      command: ['thrice', 'run', '--log', 'x', 'exec'],
    });
  });

  it('splits a variable at its first equals sign', () => {
    const argv = ['--function-env', 'A=b=c', '--function-env', 'D='];

    expect(parseOptions(argv).functionVariables).toEqual({ A: 'b=c', D: '' });
  });

  it.each([
    [['exec'], 'exec: expected a command, received none'],
    [['--tick-seconds', 'soon'], '--tick-seconds: expected a number above 0, received soon'],
    [['--function-env', '=x'], '--function-env: expected NAME=VALUE, received =x'],
    [['--unknown'], "Unknown option '--unknown'"],
    [['command'], "Unexpected argument 'command'"],
  ])('rejects %j', (argv, message) => {
    expect(() => parseOptions(argv)).toThrow(message);
  });
});
