import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chanceRatio,
  NO_EVIDENCE,
  type RefusalEvidence,
  refusalEvidenceSchema,
  weighRefusal,
} from '../../../packages/core/src/domain/lanes/refusal-evidence.ts';
import { aRateBelief } from '../../support/builders.ts';
import { seededDraw } from '../../support/kill-tracker.ts';

const START_MS = 1_767_323_045_000;
/** A rate that the lane has taken for the next hour. */
const taken = aRateBelief({ perMinute: 600, takenPerMinute: 6_000, fellAtMs: START_MS });
/** A rate at which the limit may be met at once. */
const untried = aRateBelief({ perMinute: 600, takenPerMinute: 0, fellAtMs: START_MS });

/** Makes calls at one rate, of which each is refused if told so. Returns when a limit showed first. */
function makeCalls(
  count: number,
  isRefused: (no: number) => boolean,
  { beliefs = [], evidence = NO_EVIDENCE }: CallsAt = {},
): { readonly shownAt: number | undefined; readonly evidence: RefusalEvidence } {
  let known = evidence;
  let shownAt: number | undefined;
  for (let no = 1; no <= count; no += 1) {
    known = { ...known, calls: known.calls + 1 };
    if (!isRefused(no)) continue;
    const nowMs = START_MS + no;
    const weighed = weighRefusal(known, { nowMs, sentAtMs: nowMs, beliefs, freeChanceRatio: 0.05 });
    known = weighed.evidence;
    if (weighed.refusedRatio !== undefined) shownAt ??= no;
  }
  return { shownAt, evidence: known };
}

interface CallsAt {
  readonly beliefs?: Parameters<typeof weighRefusal>[1]['beliefs'];
  readonly evidence?: RefusalEvidence;
}

describe('the refusals of a free lane', () => {
  it.each([0.02, 0.05])('show no limit if they come by chance: %s', (chance) => {
    const draw = seededDraw(1);

    expect(makeCalls(20_000, () => draw() < chance).shownAt).toBeUndefined();
  });

  it('show a limit once many calls are refused together', () => {
    expect(makeCalls(1_064, (no) => no > 1_000).shownAt).toBeLessThan(1_024);
  });

  it('show a limit where every other call of a single worker is refused', () => {
    expect(makeCalls(40, (no) => no % 2 === 0).shownAt).toBeLessThan(30);
  });

  it('show a limit that is exceeded by a sixth', () => {
    expect(makeCalls(1_500, (no) => no % 6 === 0).shownAt).toBeLessThan(400);
  });
});

describe('the refusals of a lane whose limit was found', () => {
  it('show at once that it is met, where none was by chance', () => {
    const { evidence } = makeCalls(300, (no) => no === 300, { beliefs: [taken] });

    const { shownAt } = makeCalls(160, (no) => no > 150, { beliefs: [untried], evidence });

    expect(shownAt).toBeLessThanOrEqual(152);
  });

  it.each([0.02, 0.05])('tell the chance at rates that it has taken: %s', (chance) => {
    const draw = seededDraw(3);

    const { evidence } = makeCalls(2_000, () => draw() < chance, { beliefs: [taken] });

    expect(chanceRatio(evidence)).toBeGreaterThan(chance / 2);
    expect(chanceRatio(evidence)).toBeLessThan(1.5 * chance);
  });

  it('are no chance if they follow each other closely: the limit has fallen', () => {
    const { evidence } = makeCalls(200, (no) => no % 3 === 0, { beliefs: [taken] });

    expect(evidence.safeRefused).toBe(0);
  });

  it('say with the limit how many of the calls were refused since it was met', () => {
    const { evidence } = makeCalls(300, (no) => no === 300, { beliefs: [taken] });
    const refusal = {
      nowMs: START_MS,
      sentAtMs: START_MS,
      beliefs: [untried],
      freeChanceRatio: 0.05,
    };

    const first = weighRefusal({ ...evidence, calls: 400 }, refusal);
    const second = weighRefusal({ ...first.evidence, calls: 4 }, refusal);

    expect([first.refusedRatio, second.refusedRatio]).toEqual([undefined, 1 / 20]);
  });
});

describe('what refusals show', () => {
  it('is always what can be stored', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 5_000 }), fc.boolean()), {
      maxLength: 50,
    });

    fc.assert(
      fc.property(steps, (calls) => {
        let evidence = NO_EVIDENCE;
        for (const [count, isFree] of calls) {
          const refusal = {
            nowMs: START_MS + count,
            sentAtMs: START_MS,
            freeChanceRatio: isFree ? 0.02 : 0.05,
          };
          const beliefs = isFree ? [] : [taken];
          evidence = weighRefusal({ ...evidence, calls: count }, { ...refusal, beliefs }).evidence;
        }

        expect(refusalEvidenceSchema.parse(evidence)).toEqual(evidence);
        expect(chanceRatio(evidence)).toBeLessThanOrEqual(0.25);
      }),
      { seed: 5 },
    );
  });
});
