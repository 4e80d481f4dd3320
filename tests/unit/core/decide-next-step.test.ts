import {
  classOfCode,
  decideNextStep,
  type ErrorClass,
  type ErrorCode,
  errorCodesByClass,
  limits,
  type NextStep,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anError } from '../../support/builders.ts';

const everyCode = Object.values(errorCodesByClass).flat() as readonly ErrorCode[];
const first = { attempts: 1, maxAttempts: 5, random: () => 0 };

/** What a cell's first failure leads to, by class; models are told apart below. */
const firstStep: Readonly<Record<ErrorClass, NextStep>> = {
  transient: { kind: 'retry', waitMs: 250 },
  'rate-limited': { kind: 'slow-down', retryAfterMs: undefined },
  exhausted: { kind: 'open-breaker', scope: 'lane' },
  misconfigured: { kind: 'open-breaker', scope: 'lane' },
  rejected: { kind: 'fail' },
  input: { kind: 'fail' },
  conflict: { kind: 'abandon' },
  internal: { kind: 'raise' },
};
const aboutModel: readonly ErrorCode[] = ['unknown-model', 'wrong-served-model'];

describe('the next step after a failure', () => {
  it.each(everyCode.map((code) => [code, classOfCode(code)] as const))(
    'for %s is that of class %s',
    (code, errorClass) => {
      const step = decideNextStep(anError(code), first);

      const expected = aboutModel.includes(code)
        ? { kind: 'open-breaker', scope: 'model' }
        : firstStep[errorClass];
      expect(step).toEqual(expected);
    },
  );

  it('is a wait in the attempt while that is short, then a release', () => {
    const steps = [1, 2, 3, 4].map((attempts) =>
      decideNextStep(anError('model-timeout'), { ...first, attempts }),
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
      const steps = [4, 5, 6].map((attempts) =>
        decideNextStep(anError(code), { ...first, attempts }),
      );

      const expected = { kind: 'fail' };
      expect(steps.slice(1)).toEqual([expected, expected]);
      expect(steps[0]).not.toEqual(expected);
    },
  );

  it('waits as long as the vendor asked where that is longer', () => {
    const asked = (retryAfterMs: number) =>
      decideNextStep(anError('model-unavailable', { retryAfterMs }), first);

    expect(asked(100)).toEqual({ kind: 'retry', waitMs: 250 });
    expect(asked(900)).toEqual({ kind: 'retry', waitMs: 900 });
    expect(asked(30_000)).toEqual({ kind: 'release', delayMs: 30_000 });
  });

  it('slows the lane down for a rate limit, by what the vendor asked', () => {
    const step = decideNextStep(anError('model-rate-limited', { retryAfterMs: 7_000 }), first);

    expect(step).toEqual({ kind: 'slow-down', retryAfterMs: 7_000 });
  });

  it('never gives a cell up for a rate limit, however many its attempts', () => {
    const step = decideNextStep(anError('model-rate-limited'), { ...first, attempts: 99 });

    expect(step.kind).toBe('slow-down');
  });

  it('holds a slot no longer than a second and delays no longer than the cap', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (attempts, draw) => {
          const step = decideNextStep(anError('model-timeout'), {
            attempts,
            maxAttempts: 51,
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
