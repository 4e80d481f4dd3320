import { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { describeThrown } from '../../../functions/shared/log.ts';

const secret = 'What is the capital of France?';

describe('a thrown error in the log', () => {
  it('is described by its class, code, text and stack frames', () => {
    const error = new ThriceError({ code: 'store-unavailable', message: 'table t: throttled' });

    const { stack, ...described } = describeThrown(error);

    expect(described).toEqual({
      class: 'transient',
      code: 'store-unavailable',
      error: 'table t: throttled',
    });
    expect(String(stack).split('\n')[0]).toMatch(/^\s+at /);
  });

  it.each([
    ['thrown as it is', new TypeError(secret)],
    ['with several lines', new TypeError(`${secret}\n${secret}`)],
    ['of JSON that cannot be read', parseFailure()],
  ])('is not quoted if it is foreign: %s', (_, error) => {
    const described = describeThrown(error);

    expect(described).toMatchObject({ class: 'internal', error: error.name });
    expect(JSON.stringify(described)).not.toContain('France');
  });
});

function parseFailure(): Error {
  try {
    JSON.parse(secret);
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('expected an error');
}
