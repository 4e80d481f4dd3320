import { describe, expect, it } from 'vitest';
import { RecentEnds } from '../../../packages/local/src/work/recent-ends.ts';
import { seededDraw } from '../../support/kill-tracker.ts';

describe('the last calls of a lane', () => {
  it.each([1, 64, 500])(
    'show no limit where one call in fifty is refused by chance: %s in flight',
    (inFlight) => {
      const ends = new RecentEnds();
      const draw = seededDraw(1);

      const seen = Array.from({ length: 10_000 }, () => ends.note(draw() < 0.02, inFlight));

      expect(seen).not.toContain(true);
    },
  );

  it('show a limit once many calls in flight are refused together', () => {
    const ends = new RecentEnds();
    for (let answers = 0; answers < 1000; answers += 1) ends.note(false, 64);

    const seen = Array.from({ length: 64 }, () => ends.note(true, 64));

    expect(seen.indexOf(true)).toBeLessThan(20);
  });

  it('show a limit where every other call of a single worker is refused', () => {
    const ends = new RecentEnds();

    const seen = Array.from({ length: 20 }, (_, index) => ends.note(index % 2 === 1, 1));

    expect(seen.indexOf(true)).toBe(15);
  });

  it('show a limit that is exceeded by a sixth', () => {
    const ends = new RecentEnds();

    const seen = Array.from({ length: 400 }, (_, index) => ends.note(index % 7 === 0, 64));

    expect(seen).toContain(true);
  });
});
