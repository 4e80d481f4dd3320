import { benchmarkSpecSchema } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readRepository } from '../../support/repository-files.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [keyword: string]: unknown;
}

const page = readRepository('docs/formats/')
  .map(({ text }) => text)
  .join('\n');

/** The keys at every level of a JSON Schema, without those that a spec must not have. */
function keysOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, ...rest } = schema as Schema;
  const own = Object.entries(properties).flatMap(([key, value]) =>
    'not' in value ? [] : [key, ...keysOf(value)],
  );
  return [...own, ...Object.values(rest).flatMap(keysOf)];
}

describe('the keys of a spec', () => {
  const keys = new Set(keysOf(z.toJSONSchema(benchmarkSpecSchema, { io: 'input' })));

  it.each([...keys])('%s is in the documentation', (key) => {
    expect(page).toMatch(new RegExp(`\`[^\`\n]*\\b${key}\\b[^\`\n]*\``));
  });
});
