import { describe, expect, it } from 'vitest';
import { refuseUserCode } from '../../../packages/cli/src/stage/refuse-user-code.ts';

describe('a stage', () => {
  it.each([
    [{ kind: 'file', path: './own.ts' }, './own.ts'],
    [{ kind: 'command', command: ['python3', 'score.py'] }, 'python3 score.py'],
    [{ kind: 'by', by: 'type', scorers: { number: { kind: 'file', path: 'a.ts' } } }, 'a.ts'],
  ])('refuses a scorer that is code of the user: %j', (scorer, shown) => {
    expect(() => refuseUserCode([{ kind: 'exact' }, scorer])).toThrow(
      `scorer: expected one that a stage has, received "${shown}"`,
    );
  });

  it('takes any other scorer', () => {
    expect(() =>
      refuseUserCode([{ kind: 'exact' }, { kind: 'judge', model: 'a/b' }]),
    ).not.toThrow();
  });
});
