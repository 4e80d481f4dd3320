import type { BenchmarkSpec } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { describeSpecChanges } from '../../../packages/cli/src/spec/compare-specs.ts';
import { aGroupHeader } from '../../support/builders.ts';

const { spec } = aGroupHeader();
const [direct] = spec.configs;
if (direct === undefined) throw new Error('expected a config');
const limited: BenchmarkSpec = { ...spec, select: { start: 0, limit: 3 } };

describe('describeSpecChanges', () => {
  it.each<[string, BenchmarkSpec]>([
    ['nothing', spec],
    ['a scorer table', { ...spec, scorers: { q: { kind: 'numeric', tolerance: 1 } } }],
    ['the scorer of a config', { ...spec, configs: [{ ...direct, scorer: 'q' }] }],
  ])('accepts a change of %s', (_, edited) => {
    expect(describeSpecChanges(spec, edited, ['run'])).toEqual([]);
  });

  it.each<[string, BenchmarkSpec, string]>([
    ['a number', { ...spec, replicates: 2 }, 'replicates: planned 1, received 2'],
    [
      'a key of a config',
      { ...spec, configs: [{ ...direct, system: 'Be brief.' }] },
      'configs.direct.system: planned nothing, received "Be brief."',
    ],
    ['a selection', limited, 'select.limit: planned nothing, received 3'],
    [
      'a price',
      { ...spec, prices: { 'lab/m': { input: 1, output: 2 } } },
      'prices.lab/m.input: planned nothing, received 1',
    ],
    [
      'a removed config',
      { ...spec, configs: [] },
      'configs.direct.model: planned "lab/m", received nothing',
    ],
    [
      'an added config',
      { ...spec, configs: [direct, { ...direct, name: 'b' }] },
      'configs.b.model: planned nothing, received "lab/m"',
    ],
  ])('lists a change of %s', (_, edited, change) => {
    expect(describeSpecChanges(spec, edited, ['run'])).toContain(change);
  });

  it.each<[string, BenchmarkSpec, readonly string[]]>([
    ['--limit', limited, ['run', '--limit', '3']],
    ['--replicates', { ...spec, replicates: 2 }, ['run', '--replicates=2']],
    ['--parallel', { ...spec, parallel: 2 }, ['run', '--parallel', '2']],
    ['--skip-missing-keys', { ...spec, skip_missing_keys: true }, ['run', '--skip-missing-keys']],
  ])('does not compare what %s replaced', (_, planned, commandLine) => {
    expect(describeSpecChanges(planned, spec, commandLine)).toEqual([]);
  });

  it('does not compare configs that --configs left out', () => {
    const edited = { ...spec, configs: [direct, { ...direct, name: 'b' }] };

    expect(describeSpecChanges(spec, edited, ['run', '--configs', 'direct'])).toEqual([]);
  });
});
