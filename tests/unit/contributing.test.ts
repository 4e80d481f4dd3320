import { describe, expect, it } from 'vitest';
import { readRepository } from '../support/repository-files.ts';

const files = readRepository();
const guide = files.find(({ path }) => path === 'CONTRIBUTING.md')?.text ?? '';
const changes = [
  'a scorer',
  'a solver',
  'a provider',
  'a wire protocol',
  'a CLI command',
  'a summary column',
  'an error class',
  'a rate limit',
  'a report',
  'a cloud key',
  'a lane',
  'a dataset',
];

/** Paths in the guide, without patterns such as `<kind>.ts`. */
const paths = [...guide.matchAll(/`([\w./-]+\.(?:ts|js|md|toml))`/g)].map(([, path = '']) => path);

describe('the contributing guide', () => {
  it.each([...new Set(paths)])('names a file that exists: %s', (path) => {
    const isThere = files.some((file) => file.path === path || file.path.endsWith(`/${path}`));

    expect(isThere).toBe(true);
  });

  it.each(changes)('says where to change %s', (change) => {
    expect(guide).toMatch(new RegExp(`^\\| ${change} `, 'm'));
  });
});
