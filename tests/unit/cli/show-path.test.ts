import { describe, expect, it } from 'vitest';
import { showPath } from '../../../packages/cli/src/shell/show-path.ts';

describe('a shown path', () => {
  it.each([
    ['/home/me/bench/.thrice', '.thrice'],
    ['/home/me/bench', '/home/me/bench'],
    ['/home/me/other/.thrice', '/home/me/other/.thrice'],
    ['s3://bucket', 's3://bucket'],
  ])('of %s in /home/me/bench is %s', (path, shown) => {
    expect(showPath(path, { workingFolder: '/home/me/bench' })).toBe(shown);
  });
});
