import { describe, expect, it } from 'vitest';
import { readRepository } from '../support/repository-files.ts';

const files = readRepository();
const guide = files.find(({ path }) => path === 'CONTRIBUTING.md')?.text ?? '';
/** Paths in the guide, without patterns such as `<kind>.ts`. */
const paths = [...guide.matchAll(/`([\w./-]+\.(?:ts|js|md|toml))`/g)].map(([, path = '']) => path);

describe('the contributing guide', () => {
  it.each([...new Set(paths)])('names a file that exists: %s', (path) => {
    const isThere = files.some((file) => file.path === path || file.path.endsWith(`/${path}`));

    expect(isThere).toBe(true);
  });
});
