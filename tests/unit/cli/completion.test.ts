import { describe, expect, it } from 'vitest';
import { bashCompletion } from '../../../packages/cli/src/completion/bash-completion.ts';
import {
  type CompletedCommand,
  describeCommand,
} from '../../../packages/cli/src/completion/describe-commands.ts';
import { fishCompletion } from '../../../packages/cli/src/completion/fish-completion.ts';
import { zshCompletion } from '../../../packages/cli/src/completion/zsh-completion.ts';
import { createProgram } from '../../../packages/cli/src/program.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

const thrice = describeCommand(createProgram(fakeTerminal(), () => undefined));
const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

function allOf(command: CompletedCommand): readonly CompletedCommand[] {
  return [command, ...command.commands.flatMap(allOf)];
}

/** A command whose description needs quotes. */
const quoted: CompletedCommand = {
  path: [],
  description: '',
  options: [],
  arguments: [],
  commands: [
    {
      path: ['run'],
      description: "a benchmark's [first] run: all of it",
      options: [{ flags: ['--label'], description: "the group's label", value: { kind: 'text' } }],
      arguments: [],
      commands: [],
    },
  ],
};

describe('the described commands', () => {
  it('say what each option and argument takes', () => {
    const run = thrice.commands.find(({ path }) => path[0] === 'run');

    expect(run?.arguments).toEqual([{ kind: 'file' }]);
    expect(run?.options.find(({ flags }) => flags.includes('--dir'))?.value).toEqual({
      kind: 'folder',
    });
    expect(run?.options.find(({ flags }) => flags.includes('--detach'))?.value).toBeUndefined();
  });

  it('include those of dlq, and no hidden one', () => {
    const program = createProgram(fakeTerminal(), () => undefined);
    program.command('internal', { hidden: true });

    const paths = allOf(describeCommand(program)).map(({ path }) => path.join(' '));

    expect(paths).toEqual(expect.arrayContaining(['', 'run', 'dlq', 'dlq replay', 'completion']));
    expect(paths).not.toContain('internal');
  });
});

describe.each(Object.entries(shells))('the completion for %s', (shell, complete) => {
  it('has every command and option', () => {
    const script = complete(thrice);

    const words = allOf(thrice).flatMap(({ path, options }) => [
      ...path,
      ...options.flatMap(({ flags }) => flags),
    ]);
    const dashes = shell === 'fish' ? /^--?/ : /^$/;
    const missing = words.filter((word) => !script.includes(word.replace(dashes, '')));
    expect(missing).toEqual([]);
  });

  it('quotes what descriptions say', () => {
    const script = complete(quoted);

    const lines = script.split('\n').filter((line) => !line.startsWith('#'));
    const open = lines.filter((line) => line.replaceAll("\\'", '').split("'").length % 2 === 0);
    expect(open).toEqual([]);
  });
});
