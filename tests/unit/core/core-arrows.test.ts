import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../../packages/core/src', import.meta.url));

describe('the folders of core', () => {
  it.each([
    ['scorers', ['domain', 'errors.ts']],
    ['statistics', []],
    ['spec', ['domain', 'errors.ts', 'ports']],
    // `ports`: a count of cells takes the ledger's tally.
    ['domain', ['errors.ts', 'ports']],
  ])('%s imports from no other folder than it may', (folder, allowed) => {
    const outside = importsOf(folder).filter(({ target }) => target !== folder);

    expect(outside.filter(({ target }) => !allowed.includes(target))).toEqual([]);
  });
});

/** The imports of a folder's files, each with the folder or file of `src` that it leads to. */
function importsOf(folder: string) {
  return readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const file = join(folder, name);
      const text = readFileSync(join(source, file), 'utf8');
      return [...text.matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) => ({
        file,
        target: normalize(join(dirname(file), path)).split('/')[0] ?? '',
      }));
    });
}
