import type { BenchmarkSpec } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { applyOverrides } from '../../../packages/cli/src/spec/apply-overrides.ts';
import { aGroupHeader } from '../../support/builders.ts';

const { spec } = aGroupHeader();
const [direct] = spec.configs;
if (direct === undefined) throw new Error('expected a config');
const words: BenchmarkSpec['configs'][number] = {
  ...direct,
  name: 'words',
  select: { start: 2, tags: { topic: ['words'] }, limit: 7 },
};

describe('applyOverrides', () => {
  it('returns the spec as it is without overrides', () => {
    expect(applyOverrides(spec, {})).toEqual(spec);
  });

  it('limits the questions of all configs', () => {
    const { select } = applyOverrides({ ...spec, select: { start: 3, limit: 9 } }, { limit: 5 });

    expect(select).toEqual({ start: 3, limit: 5 });
  });

  it('keeps a lower limit of the spec', () => {
    const { select } = applyOverrides({ ...spec, select: { start: 0, limit: 2 } }, { limit: 5 });

    expect(select).toEqual({ start: 0, limit: 2 });
  });

  it('limits the questions of each config where one has a selection of its own', () => {
    const { select, configs } = applyOverrides({ ...spec, configs: [direct, words] }, { limit: 5 });

    expect(select).toBeUndefined();
    expect(configs.map((config) => config.select)).toEqual([
      { start: 0, limit: 5 },
      { start: 2, tags: { topic: ['words'] }, limit: 5 },
    ]);
  });

  it('counts only the selections of the chosen configs', () => {
    const both = { ...spec, configs: [direct, words] };

    const { select, configs } = applyOverrides(both, { configs: ['direct'], limit: 5 });

    expect(select).toEqual({ start: 0, limit: 5 });
    expect(configs).toEqual([direct]);
  });

  it('replaces or lifts the budget', () => {
    const budgeted = { ...spec, budget_usd: 5 };

    expect(applyOverrides(budgeted, { budgetUsd: 7 })).toEqual({ ...spec, budget_usd: 7 });
    expect(applyOverrides(budgeted, { budgetUsd: 'none' })).toEqual(spec);
  });

  it('replaces numbers and sets a flag', () => {
    const overrides = { parallel: 2, replicates: 3, skipMissingKeys: true };

    expect(applyOverrides(spec, overrides)).toEqual({
      ...spec,
      parallel: 2,
      replicates: 3,
      skip_missing_keys: true,
    });
  });
});
