import { describe, expect, it } from 'vitest';
import { replicateMoments } from '../../../packages/core/src/results/replicate-moments.ts';
import { ReplicateTally } from '../../../packages/core/src/results/replicate-tally.ts';
import type { ReplicateSummary } from '../../../packages/core/src/results/summary.ts';
import { aCall, aCellRow } from '../../support/builders.ts';

describe('mean and variance over replicates', () => {
  it('are those of each figure', () => {
    const replicates = [replicateOf(1, 1, 1, 0), replicateOf(1, 1, 0, 0), replicateOf(1, 0, 0, 0)];

    const { mean, variance } = replicateMoments(replicates);

    expect(mean).toMatchObject({ questions: 4, correct: 2, score: 0.5, coverage: 1 });
    // NIST/SEMATECH e-Handbook 1.3.5.6: the divisor is n - 1. 0.75, 0.5 and 0.25 give 1/16.
    expect(variance).toMatchObject({ questions: 0, correct: 1, score: 1 / 16, coverage: 0 });
  });

  it('reach into the latencies', () => {
    const replicates = [500, 1_500].map((latencyMs) => summarizeRow({ latencyMs }));

    const { mean, variance } = replicateMoments(replicates);

    expect(mean['latency']).toMatchObject({ totalS: 1, p50S: 1 });
    expect(variance['latency']).toMatchObject({ totalS: 0.5, p50S: 0.5 });
  });

  it('are of figures only, not of names and intervals', () => {
    const { mean } = replicateMoments([replicateOf(1, 0)]);

    expect(Object.keys(mean)).not.toContain('run');
    expect(Object.keys(mean)).not.toContain('ci95');
    expect(Object.keys(mean)).toContain('stderr');
  });

  it('have no variance for one replicate: it is unknown, not 0', () => {
    const { mean, variance } = replicateMoments([replicateOf(1, 0)]);

    expect(mean['score']).toBe(0.5);
    expect(variance['score']).toBeNull();
    expect(variance['latency']).toMatchObject({ meanS: null });
  });

  it('are unknown where the figure of one replicate is', () => {
    const known = summarizeRow({ costUsd: 0.5 });
    const unknown = summarizeRow({ costUsd: null });

    const { mean, variance } = replicateMoments([known, unknown, known]);

    expect(mean['costUsd']).toBeNull();
    expect(variance['costUsd']).toBeNull();
    expect(mean['score']).toBe(1);
  });

  it('are none for no replicate', () => {
    expect(replicateMoments([])).toEqual({ mean: {}, variance: {} });
  });
});

function replicateOf(...scores: readonly number[]): ReplicateSummary {
  const tally = new ReplicateTally('demo-r1');
  for (const score of scores) tally.add(aCellRow({ score }));
  return tally.summarize(0.98);
}

function summarizeRow(parts: {
  readonly latencyMs?: number;
  readonly costUsd?: number | null;
}): ReplicateSummary {
  const tally = new ReplicateTally('demo-r1');
  const { latencyMs = 20, costUsd = null } = parts;
  tally.add(aCellRow({ latencyMs, calls: [aCall({ costUsd })] }));
  return tally.summarize(0.98);
}
