import { describe, expect, it } from 'vitest';
import { freePace, lanePaceSchema } from '../../../packages/core/src/domain/lanes/lane-pace.ts';
import { afterRefusal } from '../../../packages/core/src/domain/lanes/pace-refusals.ts';
import {
  afterJoining,
  afterSharing,
} from '../../../packages/core/src/domain/lanes/pace-sharing.ts';
import {
  afterIdling,
  dueAtMs,
  nextTurn,
  usedRatio,
} from '../../../packages/core/src/domain/lanes/pace-turns.ts';
import { NO_EVIDENCE } from '../../../packages/core/src/domain/lanes/refusal-evidence.ts';
import { aLanePace, aRateBelief, someTurns } from '../../support/builders.ts';

const START_MS = 1_767_323_045_000;
const NOW_MS = START_MS + 60_000;
const change = { nowMs: NOW_MS, token: 'b' };
/** A request a second. */
const steady = aRateBelief({ perMinute: 60, fellAtMs: 2e12 });
const answering = { requests: steady, sharedAtMs: START_MS, heldUntilMs: 0, refusedSinceMs: null };

/** A lane that is called by these groups, each with so many turns taken in the last minute. */
function laneOf(taken: Readonly<Record<string, number>>) {
  const names = Object.entries(taken);
  const groups = names.map(([group, lastTurn]) =>
    someTurns({ group, lastTurn, lastTokens: 100 * lastTurn, shareRatio: 1 / names.length }),
  );
  return aLanePace({ ...answering, groups });
}

function sharesOf({ groups }: ReturnType<typeof laneOf>) {
  return Object.fromEntries(
    groups.flatMap((turns) => (turns === null ? [] : [[turns.group, turns.shareRatio]])),
  );
}

describe('a rate that is shared out', () => {
  it('is halved for a group that joins', () => {
    const limits = { requestsPerMinute: null, tokensPerMinute: null };

    const joined = afterJoining(laneOf({ a: 80 }), { ...change, group: 'b', limits });

    expect(sharesOf(joined)).toEqual({ a: 0.5, b: 0.5 });
  });

  it('goes to the group whose callers wait, but for what the others need', () => {
    const shared = afterSharing(laneOf({ a: 100, b: 12 }), change);

    expect(sharesOf(shared)['b']).toBeCloseTo(0.25, 2);
    expect(sharesOf(shared)['a']).toBeCloseTo(0.75, 2);
  });

  it('is no more shared with a group that has stopped to call', () => {
    const shared = afterSharing(laneOf({ a: 100, b: 0 }), change);

    expect(shared.groups[1]).toBeNull();
    expect(sharesOf(shared)).toEqual({ a: 1 });
  });

  it('stays shared with a group whose callers wait so long that none has taken a turn', () => {
    const waiting = laneOf({ a: 100, b: 200 });
    const groups = waiting.groups.map((turns) => turns && { ...turns, sharedTurn: turns.lastTurn });

    const shared = afterSharing({ ...waiting, groups }, change);

    expect(sharesOf(shared)).toEqual({ a: 0.5, b: 0.5 });
  });

  it('gives the place of a group that has left to the next', () => {
    const limits = { requestsPerMinute: null, tokensPerMinute: null };
    const left = afterSharing(laneOf({ a: 0, b: 100 }), change);

    const joined = afterJoining(left, { ...change, group: 'c', limits });

    expect(joined.groups.map((turns) => turns?.group)).toEqual(['c', 'b']);
  });

  it('moves no turn that is due, and those after it by the new share', () => {
    const pace = laneOf({ a: 100 });
    const limits = { requestsPerMinute: null, tokensPerMinute: null };

    const joined = afterJoining(pace, { ...change, group: 'b', limits });

    const due = [60, 61, 62, 63].map((turn) => {
      const atMs = dueAtMs(joined, 0, { turn, tokensBefore: 0 });
      return Math.round(atMs - NOW_MS);
    });
    expect(due).toEqual([1_000, 1_000, 1_000, 3_000]);
  });
});

describe('a refusal of a lane that has refused all calls since the last one', () => {
  it('gives up the turns that have become too late for their callers', () => {
    const pace = aLanePace({
      requests: aRateBelief({ perMinute: 6, fellAtMs: START_MS - 60_000 }),
      groups: [someTurns({ lastTurn: 60, lastTokens: 6_000 })],
      refusedAtMs: NOW_MS - 10_000,
      refusedSinceMs: START_MS,
    });
    const call = { group: 'demo', keepsTurn: false, retryAfterMs: 1_000, named: null, tokens: 100 };

    const { pace: slowed } = afterRefusal(pace, { ...call, sentAtMs: NOW_MS }, change);

    const { turn } = nextTurn(slowed, 0);
    expect(turn).toBeLessThan(20);
    expect(dueAtMs(slowed, 0, { turn, tokensBefore: 0 })).toBeLessThan(NOW_MS + 110_000);
  });
});

/** A lane whose spec limits its tokens alone, one minute after a group has begun to call it. */
function lanePacedByTokens() {
  const own = { requestsPerMinute: null, tokensPerMinute: 20_000 };
  const joining = { nowMs: START_MS, token: 'a', group: 'demo', limits: own };
  return afterJoining(freePace('lane', 'a'), joining);
}

describe('a refusal of a lane whose spec limits its tokens alone', () => {
  it.each([
    { tokens: 100, heldMs: 968 },
    { tokens: 1_000, heldMs: 1_000 },
  ])(
    'that names its tokens and no time holds it for three calls of $tokens tokens, a second at most',
    ({ tokens, heldMs }) => {
      const call = { group: 'demo', keepsTurn: true, retryAfterMs: undefined, tokens } as const;

      const { pace: slowed } = afterRefusal(
        lanePacedByTokens(),
        { ...call, named: 'tokens', sentAtMs: NOW_MS - 500 },
        change,
      );

      expect(slowed.requests).toBeNull();
      expect(Math.round(slowed.heldUntilMs - NOW_MS)).toBe(heldMs);
    },
  );

  it.each([
    { named: null, stated: null, perMinute: 60 },
    { named: 'requests' as const, stated: null, perMinute: 60 },
    { named: 'requests' as const, stated: 500, perMinute: 485 },
  ])('limits its requests, too: $named, $stated', ({ named, stated, perMinute }) => {
    const pace = {
      ...lanePacedByTokens(),
      stated: { requestsPerMinute: stated, tokensPerMinute: null },
    };
    const call = { group: 'demo', keepsTurn: true, retryAfterMs: undefined, named, tokens: 100 };

    const { pace: slowed } = afterRefusal(pace, { ...call, sentAtMs: NOW_MS - 500 }, change);

    expect(slowed.requests?.perMinute).toBe(perMinute);
    expect(lanePaceSchema.parse(slowed)).toEqual(slowed);
    expect(dueAtMs(slowed, 0, nextTurn(slowed, 0))).toBe(NOW_MS + 2_000);
  });
});

describe('the first refusal that is weighed after a long time', () => {
  const call = {
    group: 'demo',
    keepsTurn: true,
    retryAfterMs: undefined,
    named: null,
    tokens: 100,
  };

  it.each([
    { name: 'takes turns for its tokens', pace: lanePacedByTokens() },
    {
      name: 'was free',
      pace: aLanePace({
        requests: aRateBelief({ perMinute: 6_000, fellAtMs: NOW_MS - 36_000_000 }),
        evidence: { ...NO_EVIDENCE, weighedAtMs: NOW_MS - 36_000_000 },
        windowAtMs: NOW_MS - 36_000_000,
        refusedSinceMs: null,
      }),
    },
  ])('starts a search, whatever was counted meanwhile of a lane that $name', ({ pace }) => {
    const counted = { ...pace, callCount: 500 };

    const { pace: slowed } = afterRefusal(counted, { ...call, sentAtMs: NOW_MS - 500 }, change);

    expect(slowed.requests).toMatchObject({ perMinute: 60, phase: 'searching' });
  });
});

describe('the use of a lane', () => {
  it('is the ratio of the turns that were taken to those that were allowed', () => {
    expect(usedRatio(laneOf({ a: 30 }), NOW_MS)).toBeCloseTo(0.49, 2);
    expect(usedRatio(laneOf({ a: 300 }), NOW_MS)).toBe(1);
  });

  it('is unknown where its requests are not limited', () => {
    expect(usedRatio(lanePacedByTokens(), NOW_MS)).toBeNull();
  });

  it('is unknown just after the pace has changed', () => {
    const place = { place: 0, turn: { turn: 30, tokensBefore: 0 } };

    expect(usedRatio(afterIdling(laneOf({ a: 30 }), { ...change, ...place }), NOW_MS)).toBeNull();
  });
});
