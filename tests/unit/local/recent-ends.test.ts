import { describe, expect, it } from 'vitest';
import { RecentEnds } from '../../../packages/local/src/work/recent-ends.ts';
import { seededDraw } from '../../support/kill-tracker.ts';

describe('the last calls of a lane', () => {
  it('show no limit where one call in fifty is refused by chance', () => {
    const ends = new RecentEnds();
    const draw = seededDraw(1);

    const seen = Array.from({ length: 10_000 }, () => ends.note(draw() < 0.02));

    expect(seen).not.toContain(true);
  });

  it('show a limit at the fifth refusal in a row', () => {
    const ends = new RecentEnds();
    for (let answers = 0; answers < 1000; answers += 1) ends.note(false);

    expect([1, 2, 3, 4, 5].map(() => ends.note(true))).toEqual([false, false, false, false, true]);
  });

  it('show a limit where every other call of a single worker is refused', () => {
    const ends = new RecentEnds();

    const seen = Array.from({ length: 10 }, (_, index) => ends.note(index % 2 === 1));

    expect(seen.indexOf(true)).toBe(9);
  });

  it('show a limit that is exceeded by a tenth', () => {
    const ends = new RecentEnds();

    const seen = Array.from({ length: 200 }, (_, index) => ends.note(index % 11 === 0));

    expect(seen).toContain(true);
  });
});
