import { type ErrorClass, type ErrorCode, errorCodesByClass, ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../packages/cli/src/shell/exit-codes.ts';

const expected: Readonly<Record<ErrorClass, number>> = {
  input: 64,
  transient: 69,
  'rate-limited': 69,
  exhausted: 2,
  misconfigured: 69,
  'user-code': 1,
  rejected: 1,
  conflict: 64,
  internal: 70,
};
const cases = Object.entries(errorCodesByClass).flatMap(([errorClass, codes]) =>
  (codes as readonly ErrorCode[]).map((code) => ({
    code,
    exitCode: code === 'interrupted' ? 130 : expected[errorClass as ErrorClass],
  })),
);

describe('the exit code', () => {
  it.each(cases)('for $code is $exitCode', ({ code, exitCode }) => {
    expect(exitCodeOf(new ThriceError({ code, message: 'some failure' }))).toBe(exitCode);
  });
});
