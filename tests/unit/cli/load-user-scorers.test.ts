import { describe, expect, it } from 'vitest';
import { loadUserScorer } from '../../../packages/cli/src/spec/load-user-scorers.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('the command of a scorer', () => {
  it('is planned with its files of text, but without the text of one that holds keys', async () => {
    const files = { 'score.py': 'print(1)', '.env': 'KEY=secret' };
    await using folder = await temporaryFolder(files);
    const table = { kind: 'command', command: ['python3', 'score.py', '.env', '--fast'] };

    const loaded = await loadUserScorer(table, folder.resolve('spec.toml'));

    expect(loaded).toEqual({
      table: {
        ...table,
        loaded: {
          files: { 'score.py': 'print(1)' },
          digests: { '.env': expect.stringMatching(/^[\da-f]{64}$/) as string },
        },
      },
    });
  });

  it.each([
    [['python3', 'missing.py'], /^\.command\[1\]: .*missing\.py: expected a file, found none$/],
    [
      ['./score.sh'],
      /^\.command\[0\]: expected a program that may be run, received "\.\/score\.sh"$/,
    ],
  ])('is refused before a run: %j', async (command, problem) => {
    await using folder = await temporaryFolder({ 'score.sh': 'true' });

    const loaded = await loadUserScorer({ kind: 'command', command }, folder.resolve('spec.toml'));

    expect(loaded.problem).toMatch(problem);
  });
});
