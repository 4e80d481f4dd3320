import { groupOfRun } from '@thrice/core';
import { describe, expect, it } from 'vitest';

describe('the group of a run', () => {
  it.each([
    ['demo-r1', 'demo'],
    ['demo-r12', 'demo'],
    ['demo-r2-20260102T030405Z-0000-r100', 'demo-r2-20260102T030405Z-0000'],
    ['demo', 'demo'],
  ])('%s is %s, however many replicates it has', (run, group) => {
    expect(groupOfRun(run)).toBe(group);
  });
});
