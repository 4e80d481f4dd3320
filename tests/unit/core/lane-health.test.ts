import { type ErrorCode, type ErrorDetails, LaneHealth } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { anError } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const start = '2026-01-02T03:04:05.000Z';
const unsent: ErrorDetails = { isUnsent: true };

function aLane() {
  const clock = new FakeClock(start);
  const health = new LaneHealth({ clock, random: () => 0 });
  /** A call of a cell, sent now, that fails. */
  const fail = (cell: string, code: ErrorCode = 'connection-failed', details: ErrorDetails = {}) =>
    health.noteFailure('lab', anError(code, details), {
      cell,
      startedAtMs: clock.monotonicMs(),
    });
  return { clock, health, fail };
}

/** What diagnoses say, by failure: `out` opens the breaker, a plus counts as an attempt. */
function shapes(diagnoses: readonly ReturnType<LaneHealth['noteFailure']>[]): readonly string[] {
  return diagnoses.map(
    ({ outage, isOpening, isAttempt }) =>
      `${isOpening ? 'opens' : outage === undefined ? 'works' : 'out'}${isAttempt ? '+' : ''}`,
  );
}

describe('the health of a lane', () => {
  it('is out after three requests in a row that found nothing to connect to, none of them an attempt', () => {
    const { clock, fail } = aLane();

    const diagnoses = ['q1', 'q1', 'q1'].map((cell) => {
      clock.advance(100);
      return fail(cell, 'connection-failed', unsent);
    });

    expect(shapes(diagnoses)).toEqual(['works', 'works', 'opens']);
    expect(diagnoses[2]?.outage).toEqual({
      since: '2026-01-02T03:04:05.100Z',
      probeAt: '2026-01-02T03:04:06.300Z',
    });
  });

  it.each<readonly [ErrorCode, ErrorDetails]>([
    ['connection-failed', {}],
    ['model-unavailable', {}],
    ['truncated-response', { isPage: true }],
  ])(
    'is out after %s of five different cells in a row, however often each fails',
    (code, details) => {
      const { fail } = aLane();
      const cells = ['q1', 'q1', 'q2', 'q3', 'q4', 'q4', 'q5'];

      const diagnoses = cells.map((cell) => fail(cell, code, details));

      expect(shapes(diagnoses)).toEqual([...Array<string>(6).fill('works+'), 'opens']);
      expect(diagnoses.map(({ isSuspect }) => isSuspect)).toEqual([
        ...Array<boolean>(6).fill(true),
        false,
      ]);
    },
  );

  it('works as long as another endpoint of the lane does, where only a request that was sent is an attempt', () => {
    const { fail } = aLane();
    const cells = ['q1', 'q2', 'q3', 'q4', 'q5', 'q6'];

    const refused = cells.map((cell) =>
      fail(cell, 'connection-failed', { isUnsent: true, hasHealthyEndpoint: true }),
    );
    const reset = cells.map((cell) =>
      fail(cell, 'connection-failed', { hasHealthyEndpoint: true }),
    );

    expect(new Set(shapes(refused))).toEqual(new Set(['works']));
    expect(new Set(shapes(reset))).toEqual(new Set(['works+']));
  });

  it.each<ErrorCode>(['model-timeout', 'truncated-response'])(
    'is not told by %s: the last questions may be slow ones',
    (code) => {
      const { fail } = aLane();

      const diagnoses = ['q1', 'q2', 'q3', 'q4', 'q5', 'q6'].map((cell) => fail(cell, code));

      expect(new Set(shapes(diagnoses))).toEqual(new Set(['works+']));
    },
  );

  it.each<ErrorCode>(['model-rate-limited', 'content-filtered', 'auth-failed', 'quota-exhausted'])(
    'is good again after %s: a server responded',
    (code) => {
      const { health, fail } = aLane();
      fail('q1', 'connection-failed', unsent);
      fail('q2', 'connection-failed', unsent);
      const hadResponded = health.hasResponded('lab');

      fail('q3', code);
      const diagnosis = fail('q4', 'connection-failed', unsent);

      expect([hadResponded, health.hasResponded('lab')]).toEqual([false, true]);
      expect(shapes([diagnosis])).toEqual(['works']);
    },
  );

  it('counts anew after an answer', () => {
    const { clock, health, fail } = aLane();
    fail('q1', 'connection-failed', unsent);
    fail('q2', 'connection-failed', unsent);

    health.noteResponse('lab', clock.monotonicMs());
    const diagnoses = ['q3', 'q4', 'q5'].map((cell) => fail(cell, 'connection-failed', unsent));

    expect(shapes(diagnoses)).toEqual(['works', 'works', 'opens']);
  });

  it('takes calls that were in flight when the breaker opened as part of the outage', () => {
    const { clock, health, fail } = aLane();
    const startedAtMs = clock.monotonicMs();
    clock.advance(100);
    for (const cell of ['q1', 'q2', 'q3']) fail(cell, 'connection-failed', unsent);

    const error = anError('model-unavailable');
    const diagnosis = health.noteFailure('lab', error, { cell: 'q9', startedAtMs });

    expect(shapes([diagnosis])).toEqual(['out']);
  });

  it('stays out after an answer that was on its way when the breaker opened', () => {
    const { clock, health, fail } = aLane();
    const startedAtMs = clock.monotonicMs();
    clock.advance(100);
    for (const cell of ['q1', 'q2', 'q3']) fail(cell, 'connection-failed', unsent);
    clock.advance(100);

    health.noteResponse('lab', startedAtMs);

    expect(shapes([fail('q4', 'connection-failed', unsent)])).toEqual(['opens']);
  });

  it('is out for twice as long after each probe that fails, up to half a minute, since the same instant', () => {
    const { clock, fail } = aLane();
    for (const cell of ['q1', 'q2']) fail(cell, 'connection-failed', unsent);
    const waits: number[] = [];

    for (let probe = 0; probe < 8; probe += 1) {
      const { outage } = fail('q3', 'connection-failed', unsent);
      expect(outage?.since).toBe(start);
      const waitMs = Date.parse(outage?.probeAt ?? '') - clock.now();
      waits.push(waitMs);
      clock.advance(waitMs);
    }

    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000]);
  });

  it('counts a probe that was sent as an attempt of its cell: its question may crash the server', () => {
    const { clock, fail } = aLane();
    for (const cell of ['q1', 'q2', 'q3', 'q4', 'q5']) fail(cell);
    clock.advance(5_000);

    const sent = fail('q1');
    clock.advance(5_000);
    const refused = fail('q1', 'connection-failed', unsent);

    expect(shapes([sent, refused])).toEqual(['opens+', 'opens']);
  });

  it('waits at least as long as the server asked', () => {
    const { fail } = aLane();
    for (const cell of ['q1', 'q2', 'q3', 'q4']) fail(cell, 'model-unavailable');

    const { outage } = fail('q5', 'model-unavailable', { retryAfterMs: 20_000 });

    expect(outage?.probeAt).toBe('2026-01-02T03:04:25.000Z');
  });
});
