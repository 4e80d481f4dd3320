import {
  classOfCode,
  type ErrorClass,
  type ErrorCode,
  errorCodesByClass,
  limits,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  breakerScopeOf,
  decideRetry,
  type RetryDecision,
} from '../../../packages/core/src/cells/decide-retry.ts';
import { anError } from '../../support/builders.ts';

const everyCode = Object.values(errorCodesByClass).flat() as readonly ErrorCode[];
const first = { attempts: 1, maxAttempts: 5, isLaneOut: false, random: () => 0 };

/** What a cell's first failure leads to, by class. */
const firstDecision: Readonly<Record<ErrorClass, RetryDecision>> = {
  transient: { kind: 'retry', waitMs: 250 },
  'rate-limited': { kind: 'slow-down' },
  exhausted: { kind: 'blocked' },
  misconfigured: { kind: 'blocked' },
  rejected: { kind: 'fail' },
  input: { kind: 'fail' },
  'user-code': { kind: 'fail' },
  conflict: { kind: 'abandon' },
  internal: { kind: 'raise' },
};

describe('the breaker that an error opens', () => {
  it.each(everyCode.map((code) => [code, classOfCode(code)] as const))(
    'for %s follows from class %s',
    (code, errorClass) => {
      const aboutModel: readonly ErrorCode[] = [
        'unknown-model',
        'wrong-served-model',
        'structured-output-refused',
      ];
      const opens = errorClass === 'exhausted' || errorClass === 'misconfigured';

      const scope = breakerScopeOf(anError(code));

      expect(scope).toBe(opens ? (aboutModel.includes(code) ? 'model' : 'lane') : undefined);
    },
  );
});

describe('the breaker that an error opens, where the error says whose', () => {
  it.each([
    ['quota-exhausted', 'model'],
    ['quota-exhausted', 'lane'],
    ['unknown-model', 'lane'],
    ['model-unavailable', undefined],
  ] as const)('for %s is that of the %s', (code, scope) => {
    const breakerScope = scope ?? 'model';

    expect(breakerScopeOf(anError(code, { breakerScope }))).toBe(scope);
  });
});

describe('the decision after a failure', () => {
  it.each(everyCode.map((code) => [code, classOfCode(code)] as const))(
    'for %s is that of class %s',
    (code, errorClass) => {
      expect(decideRetry(anError(code), first)).toEqual(firstDecision[errorClass]);
    },
  );

  it('is a wait within the delivery while that is short, then a release', () => {
    const steps = [1, 2, 3, 4].map((attempts) =>
      decideRetry(anError('model-timeout'), { ...first, attempts }),
    );

    expect(steps).toEqual([
      { kind: 'retry', waitMs: 250 },
      { kind: 'retry', waitMs: 500 },
      { kind: 'retry', waitMs: 1_000 },
      { kind: 'release', delayMs: 2_000 },
    ]);
  });

  it.each<ErrorCode>(['model-timeout', 'invariant-violated'])(
    'after %s is the end when the attempts are used up',
    (code) => {
      const steps = [4, 5, 6].map((attempts) => decideRetry(anError(code), { ...first, attempts }));

      const expected = { kind: 'fail' };
      expect(steps.slice(1)).toEqual([expected, expected]);
      expect(steps[0]).not.toEqual(expected);
    },
  );

  it('waits as long as the vendor asked where that is longer', () => {
    const asked = (retryAfterMs: number) =>
      decideRetry(anError('model-unavailable', { retryAfterMs }), first);

    expect(asked(100)).toEqual({ kind: 'retry', waitMs: 250 });
    expect(asked(900)).toEqual({ kind: 'retry', waitMs: 900 });
    expect(asked(30_000)).toEqual({ kind: 'release', delayMs: 30_000 });
  });

  it('after a transport failure is to wait for the lane while it is out', () => {
    const step = decideRetry(anError('connection-failed'), { ...first, isLaneOut: true });

    expect(step).toEqual({ kind: 'blocked' });
  });

  it('waits as after the first attempt where none has counted', () => {
    const step = decideRetry(anError('connection-failed'), { ...first, attempts: 0 });

    expect(step).toEqual({ kind: 'retry', waitMs: 250 });
  });

  it('never fails a cell for a rate limit, however many its attempts', () => {
    const step = decideRetry(anError('model-rate-limited'), { ...first, attempts: 99 });

    expect(step.kind).toBe('slow-down');
  });

  it('holds a lease no longer than a second and delays no longer than the cap', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempts, draw) => {
          const step = decideRetry(anError('model-timeout'), {
            attempts,
            maxAttempts: 51,
            isLaneOut: false,
            random: () => draw,
          });

          expect(step.kind).toBeOneOf(['retry', 'release']);
          if (step.kind === 'retry') {
            expect(step.waitMs).toBeLessThanOrEqual(limits.inDeliveryWaitMs);
          }
          if (step.kind === 'release') {
            expect(step.delayMs).toBeGreaterThan(limits.inDeliveryWaitMs);
            expect(step.delayMs).toBeLessThanOrEqual(limits.backoffCapMs);
          }
        },
      ),
    );
  });
});
