import { chmod, mkdir, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../../packages/cli/src/program.ts';
import {
  COMMAND_NAMES,
  findCommandName,
  nameCommands,
} from '../../../packages/cli/src/shell/command-name.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** An installed Thrice, with a link to it in a folder of npm and in one of the shell. */
async function anInstall() {
  const folder = await temporaryFolder({ 'thrice/bin/thrice.js': '#!/usr/bin/env node\n' });
  const script = folder.resolve('thrice/bin/thrice.js');
  await chmod(script, 0o755);
  for (const place of ['node_modules/.bin', 'usr/bin', 'my tools']) {
    await mkdir(folder.resolve(place), { recursive: true });
    await symlink(script, folder.resolve(`${place}/thrice`));
  }
  return folder;
}

describe('the name of the command', () => {
  it.each([
    ['by npx', 'node_modules/.bin/thrice', { npm_command: 'exec' }, 'npx --no thrice'],
    ['by a script of npm', 'node_modules/.bin/thrice', { npm_command: 'run' }, 'npx --no thrice'],
    ['by its path', 'node_modules/.bin/thrice', {}, '<folder>/node_modules/.bin/thrice'],
    ['by the path of a script', 'thrice/bin/thrice.js', {}, '<folder>/thrice/bin/thrice.js'],
    ['from the shell', 'usr/bin/thrice', { PATH: 'usr/bin' }, 'thrice'],
    [
      'by a path that the shell finds as well',
      'thrice/bin/thrice.js',
      { PATH: 'usr/bin' },
      'thrice',
    ],
    ['by a path with a space', 'my tools/thrice', {}, "'<folder>/my tools/thrice'"],
  ])(
    'is as it was started: %s',
    async (_, script, { PATH, ...environment }: Record<string, string>, name) => {
      await using folder = await anInstall();
      const path = `/nowhere:${PATH === undefined ? '' : folder.resolve(PATH)}`;

      const found = findCommandName(folder.resolve(script), { ...environment, PATH: path });

      expect(found.replaceAll(folder.path, '<folder>')).toBe(name);
    },
  );

  it('is that of the shell only where the shell finds the same one', async () => {
    await using folder = await anInstall();
    await using other = await temporaryFolder({ thrice: '' });
    const script = folder.resolve('usr/bin/thrice');

    expect(findCommandName(script, { PATH: other.path })).toBe(script);
  });

  it('stands in every command line of a text, and nowhere else', () => {
    const text =
      'thrice: [invalid-argument] "thrice ls" lists all groups; next: thrice resume demo; npx --no thrice run x; a bug in thrice; /bin/thrice run';

    expect(nameCommands(text, 'npx --no thrice')).toBe(
      'thrice: [invalid-argument] "npx --no thrice ls" lists all groups; next: npx --no thrice resume demo; npx --no thrice run x; a bug in thrice; /bin/thrice run',
    );
  });

  it('is known for every command', () => {
    const program = createProgram(fakeTerminal(), () => undefined);
    const names = program.commands.map((command) => command.name());

    expect([...COMMAND_NAMES].toSorted()).toEqual([...names, 'help'].toSorted());
  });
});
