import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSpecFile } from '../../../packages/cli/src/spec/read-spec-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('readSpecFile', () => {
  it('reads the prompt files of configs and of scorers', async () => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, 'ask.txt'), '{{question}} Be brief.');
    await writeFile(join(folder.path, 'judge.txt'), 'Is {{answer}} {{target}}?');
    const spec = [
      'questions = "q.jsonl"',
      '[scorers.quality]',
      'kind = "judge"',
      'model = "openai/judge"',
      'prompt_file = "judge.txt"',
      '[[configs]]',
      'name = "a"',
      'model = "openai/x"',
      'prompt_file = "ask.txt"',
      'scorer = "quality"',
    ];
    await writeFile(join(folder.path, 'b.toml'), spec.join('\n'));

    const { spec: read } = await readSpecFile('b.toml', folder.path);

    expect(read.configs[0]).toMatchObject({ prompt: '{{question}} Be brief.' });
    expect(read.scorers).toEqual({
      quality: { kind: 'judge', model: 'openai/judge', prompt: 'Is {{answer}} {{target}}?' },
    });
  });
});
