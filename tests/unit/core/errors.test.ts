import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  assertNever,
  classOfCode,
  type ErrorClass,
  type ErrorCode,
  errorCodesByClass,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { warningCodes } from '../../../packages/core/src/warnings.ts';

const everyCode = Object.entries(errorCodesByClass).flatMap(([errorClass, codes]) =>
  codes.map((code): [ErrorCode, ErrorClass] => [code, errorClass as ErrorClass]),
);

describe('an error', () => {
  it.each(everyCode)('with code %s has class %s', (code, errorClass) => {
    expect(new ThriceError({ code, message: 'x' }).class).toBe(errorClass);
    expect(classOfCode(code)).toBe(errorClass);
  });

  it('has every code in one class only', () => {
    const codes = everyCode.map(([code]) => code);

    expect(new Set(codes).size).toBe(codes.length);
  });

  it('keeps its details and its cause', () => {
    const cause = new Error('socket');

    const error = new ThriceError({
      code: 'model-unavailable',
      message: '503 busy',
      details: { retryAfterMs: 5, status: 503 },
      cause,
    });

    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe('ThriceError');
    expect(error.message).toBe('503 busy');
    expect(error.details).toEqual({ retryAfterMs: 5, status: 503 });
    expect(error.cause).toBe(cause);
  });

  it('is returned unchanged by toThriceError', () => {
    const error = new ThriceError({ code: 'lease-lost', message: 'x' });

    expect(toThriceError(error)).toBe(error);
  });

  it.each([
    ['an error', new TypeError('x is not a function'), 'x is not a function'],
    ['a text', 'broken', 'broken'],
    ['nothing', undefined, 'undefined'],
  ])('is a bug if something else was thrown: %s', (_, thrown, message) => {
    const error = toThriceError(thrown);

    expect(error).toMatchObject({ code: 'invariant-violated', class: 'internal', message });
    expect(error.cause).toBe(thrown);
  });

  it('is a bug if a union has an unexpected member', () => {
    expect(() => assertNever('purple' as never)).toThrow('unexpected value: "purple"');
  });
});

describe('docs/errors.md', () => {
  const { Warnings: warnings, ...sections } = readSections();

  it('has a section for each class', () => {
    expect(Object.keys(sections)).toEqual(Object.keys(errorCodesByClass));
  });

  it('has every code of a warning, and no other', () => {
    expect(warnings).toEqual(warningCodes);
  });

  it('has every code in the section of its class, and no other', () => {
    expect(sections).toEqual(errorCodesByClass);
  });
});

/** The codes in each section's table, by section heading. */
function readSections(): Record<string, readonly string[]> {
  const path = resolve(import.meta.dirname, '../../../docs/errors.md');
  const [, ...sections] = readFileSync(path, 'utf8').split('\n## ');
  return Object.fromEntries(
    sections.map((section) => {
      const [heading = ''] = section.split('\n');
      const codes = [...section.matchAll(/^\| `([a-z-]+)` +\|/gm)].map(([, code = '']) => code);
      return [heading, codes];
    }),
  );
}
