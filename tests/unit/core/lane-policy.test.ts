import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type LaneReport,
  type LaneState,
  laneStateSchema,
  type ModelReport,
} from '../../../packages/core/src/domain/lane-state.ts';
import {
  afterReport,
  partOf,
  rateOf,
  stateAt,
  unknownLane,
  windowMs,
} from '../../../packages/core/src/lanes/lane-policy.ts';

const nothing: ModelReport = {
  ...{ answered: 0, sent: 0, refused: 0, tokens: 0, countedMs: 0, retryAfterMs: 0, reason: null },
  stated: { requestsPerMinute: null, tokensPerMinute: null },
};

function aReport(model: Partial<ModelReport> = {}): LaneReport {
  const models = new Map([['m', { ...nothing, ...model }]]);
  return { isCheckIn: true, isHungry: true, usedRatio: 0, models };
}

/** Reports the same calls in each of so many windows of one worker. */
function afterWindows(state: LaneState, count: number, model: Partial<ModelReport>): LaneState {
  let next = state;
  for (let no = 0; no < count; no += 1) {
    const elapsedMs = windowMs(next);
    const report = aReport({ ...model, countedMs: elapsedMs });
    next = afterReport(next, report, { elapsedMs, nowMs: next.atMs + elapsedMs });
  }
  return next;
}

function rateIn(state: LaneState, nowMs = state.atMs): number | null {
  const model = stateAt(state, nowMs).models['m'];
  return model === undefined ? null : rateOf(model).requestsPerMinute;
}

const lane = unknownLane('lab', 0);
/** Half of the calls of a window are refused; by chance, three of ten. */
const overrun = { sent: 100, refused: 50, answered: 50, reason: 'busy' };
const byChance = { sent: 100, refused: 30, answered: 70, reason: 'busy' };

describe('the policy of a lane', () => {
  it('lets calls go that nobody refuses', () => {
    expect(rateIn(afterWindows(lane, 5, { sent: 20, answered: 20 }))).toBeNull();
  });

  it('cuts the rate to a little less than what was answered', () => {
    const cut = afterWindows(lane, 2, overrun);

    const perMinute = (50 * 60_000) / windowMs(cut);
    expect(rateIn(cut)).toBeCloseTo(0.96 * perMinute, 0);
  });

  it('takes two cuts back that did not lower the share of refusals', () => {
    const cutTwice = afterWindows(lane, 4, byChance);
    const takenBack = afterWindows(cutTwice, 2, byChance);

    expect(rateIn(cutTwice)).not.toBeNull();
    expect(rateIn(takenBack)).toBeNull();
    expect(takenBack.models['m']?.chanceRatio).toBeCloseTo(0.3, 5);
  });

  it('keeps a cut that lowered it, and lets the rate rise, slowly at first', () => {
    const kept = afterWindows(afterWindows(lane, 2, overrun), 2, { sent: 50, answered: 50 });
    const rates = [0, 10_000, 30_000, 60_000].map((ms) => rateIn(kept, kept.atMs + ms) ?? 0);

    const [first = 0, soon = 0, later = 0, doubled = 0] = rates;
    expect(soon / first).toBeLessThan(1.02);
    expect(later).toBeGreaterThan(soon);
    expect(doubled / first).toBeGreaterThan(1.9);
  });

  it('finds a chance out again after ten minutes', () => {
    const known = afterWindows(lane, 6, byChance);
    const used = afterWindows(known, 300, { sent: 20, answered: 20 });

    expect(known.models['m']?.chanceRatio).toBeGreaterThan(0);
    expect(used.models['m']?.chanceRatio).toBe(0);
  });

  it('holds a model that answers nothing for as long as its vendor asks, five minutes at most', () => {
    const refused = { sent: 5, refused: 5, reason: 'busy' };

    const held = afterWindows(lane, 3, { ...refused, retryAfterMs: 30_000 });
    const longHeld = afterWindows(lane, 3, { ...refused, retryAfterMs: 3_600_000 });

    expect(held.models['m']?.holdMs).toBe(30_000);
    expect(longHeld.models['m']?.holdMs).toBe(300_000);
    expect(stateAt(held, held.atMs + 31_000).models['m']?.holdMs).toBe(0);
  });

  it('forgets the rate of a model that is answered again after it refused everything for over a minute', () => {
    const cut = afterWindows(lane, 2, overrun);
    const refused = { sent: 5, refused: 5, reason: 'busy' };
    const rateAfter = (windows: number) =>
      rateIn(afterWindows(afterWindows(cut, windows, refused), 1, { sent: 1, answered: 1 }));

    expect(rateAfter(10)).not.toBeNull();
    expect(rateAfter(40)).toBeNull();
  });

  it('uses 96 % of a limit that the vendor states', () => {
    const stated = { requestsPerMinute: 600, tokensPerMinute: null };

    expect(rateIn(afterWindows(lane, 1, { sent: 1, answered: 1, stated }))).toBeCloseTo(576, 5);
  });

  it('forgets a lane that nobody has used for ten minutes', () => {
    const cut = afterWindows(lane, 2, overrun);

    expect(rateIn(cut, cut.atMs + 599_000)).not.toBeNull();
    expect(stateAt(cut, cut.atMs + 600_000).models).toEqual({});
  });

  it('lets no time pass where a clock was set back', () => {
    const cut = afterWindows(lane, 2, overrun);

    expect(stateAt(cut, cut.atMs - 86_400_000)).toEqual({ ...cut });
  });

  it('gives each worker its part, and to the hungry what others leave', () => {
    const workers = { count: 4, hungry: 2, usedRatio: 0.1 };
    const state = { ...lane, workers };

    expect(partOf(state, { isCounted: true, isHungry: true })).toBeCloseTo(0.45, 5);
    expect(partOf(state, { isCounted: true, isHungry: false })).toBe(0.25);
    expect(partOf(state, { isCounted: false, isHungry: true })).toBe(0.2);
  });

  it('keeps a state that can be stored, whatever is reported', () => {
    const count = fc.integer({ min: 0, max: 1_000 });
    const model = fc.record({
      ...{ answered: count, sent: count, refused: count, tokens: count },
      countedMs: fc.integer({ min: 0, max: 60_000 }),
      retryAfterMs: fc.integer({ min: 0, max: 10_000_000 }),
      reason: fc.option(fc.constant('busy')),
      stated: fc.record({
        requestsPerMinute: fc.option(fc.integer({ min: 1, max: 10_000 })),
        tokensPerMinute: fc.option(fc.integer({ min: 1, max: 1_000_000 })),
      }),
    });
    const step = fc.record({
      model,
      isCheckIn: fc.boolean(),
      isHungry: fc.boolean(),
      elapsedMs: fc.integer({ min: 0, max: 700_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let state = lane;
        for (const { model: counted, elapsedMs, isCheckIn, isHungry } of steps) {
          const report = { isCheckIn, isHungry, usedRatio: 0.5, models: new Map([['m', counted]]) };
          state = afterReport(state, report, { elapsedMs, nowMs: state.atMs + elapsedMs });
          expect(laneStateSchema.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
          expect(rateIn(state) ?? 1).toBeGreaterThan(0);
        }
      }),
    );
  });
});
