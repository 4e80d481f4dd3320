import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  freePace,
  type LanePace,
  lanePaceSchema,
} from '../../../packages/core/src/domain/lanes/lane-pace.ts';
import type { LimitKind } from '../../../packages/core/src/domain/lanes/limit-kind.ts';
import { paceRate } from '../../../packages/core/src/domain/lanes/pace-rates.ts';
import {
  afterAnswer,
  afterRefusal,
  afterStatement,
} from '../../../packages/core/src/domain/lanes/pace-refusals.ts';
import {
  afterJoining,
  afterSharing,
} from '../../../packages/core/src/domain/lanes/pace-sharing.ts';
import { dueAtMs, nextTurn } from '../../../packages/core/src/domain/lanes/pace-turns.ts';

const START_MS = 1_767_323_045_000;
const KINDS: readonly LimitKind[] = ['requests', 'tokens'];

type Step = (pace: LanePace, nowMs: number) => LanePace;

const group = fc.constantFrom('a', 'b', 'c');
const perMinute = fc.option(fc.constantFrom(1, 60, 20_000, 1e9));
const bounds = fc.record({ requestsPerMinute: perMinute, tokensPerMinute: perMinute });
const waitMs = fc.option(fc.constantFrom(0, 1, 1_000, 300_000, 1e10), { nil: undefined });
/** Up to weeks, and back: a clock may be set. */
const elapsedMs = fc.constantFrom(0, 1, 10, 1_000, 6_000, 60_000, 3_600_000, 3e9, -5_000, -3e6);

const joins = fc.tuple(group, bounds).map(
  ([name, limits]): Step =>
    (pace, nowMs) =>
      afterJoining(pace, { nowMs, token: 'b', group: name, limits }),
);
const shared: Step = (pace, nowMs) => afterSharing(pace, { nowMs, token: 'b' });
const answered: Step = (pace, nowMs) => afterAnswer(pace, { nowMs, token: 'b' });
const stated = bounds.map(
  (limits): Step =>
    (pace, nowMs) =>
      afterStatement(pace, limits, { nowMs, token: 'b' }),
);
const counted = fc.tuple(fc.nat(5_000), fc.nat(100)).map(
  ([calls, refusals]): Step =>
    (pace) => ({
      ...pace,
      callCount: pace.callCount + calls,
      refusalCount: pace.refusalCount + refusals,
    }),
);
const tookTurns = fc.tuple(fc.nat(500), fc.integer({ min: -2_000, max: 50_000 })).map(
  ([count, tokens]): Step =>
    (pace) => ({
      ...pace,
      callCount: pace.callCount + count,
      groups: pace.groups.map(
        (turns) =>
          turns && {
            ...turns,
            lastTurn: turns.lastTurn + count,
            lastTokens: turns.lastTokens + tokens,
          },
      ),
    }),
);
const refused = fc
  .record({
    group,
    keepsTurn: fc.boolean(),
    tookMs: fc.constantFrom(0, 20, 5_000, 600_000),
    retryAfterMs: waitMs,
    named: fc.option(fc.constantFrom(...KINDS)),
    tokens: fc.constantFrom(0, 1, 1_000, 1e6),
  })
  .map(
    ({ tookMs, ...call }): Step =>
      (pace, nowMs) =>
        afterRefusal(pace, { ...call, sentAtMs: nowMs - tookMs }, { nowMs, token: 'b' }).pace,
  );

const step = fc.oneof(joins, fc.constantFrom(shared, answered), stated, counted, tookTurns, {
  arbitrary: refused,
  weight: 6,
});
const histories = fc.array(fc.tuple(elapsedMs, step), { maxLength: 60, size: 'max' });

/** Fails for a pace that cannot be stored, that allows less than what the lowest limit does, or whose turns are never due. */
function expectSound(pace: LanePace, nowMs: number): void {
  expect(lanePaceSchema.parse(JSON.parse(JSON.stringify(pace)))).toEqual(pace);
  for (const kind of KINDS) {
    const { perMinute: rate } = paceRate(pace, kind, nowMs) ?? { perMinute: 1 };
    expect(rate).toBeGreaterThan(0.9);
    expect(rate).toBeLessThan(Number.POSITIVE_INFINITY);
  }
  for (const place of pace.groups.keys())
    expect(Number.isFinite(dueAtMs(pace, place, nextTurn(pace, place)))).toBe(true);
}

describe('the pace of a lane', () => {
  it('can be stored and has sound rates after any refusals, answers, counts and times', () => {
    fc.assert(
      fc.property(histories, (history) => {
        let pace = freePace('lab', 'a');
        let nowMs = START_MS;
        for (const [passedMs, change] of history) {
          nowMs += passedMs;
          pace = change(pace, nowMs);
          expectSound(pace, nowMs);
        }
      }),
      { seed: 8, numRuns: 300 },
    );
  }, 30_000);
});
