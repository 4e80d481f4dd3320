import type { WorkerEvent } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { metricsOf } from '../../../functions/shared/metrics.ts';
import { aCellKey, aCellResult, aFailedResult, anError } from '../../support/builders.ts';

const key = aCellKey();
const count = (name: string) => ({ name, unit: 'Count', value: 1 });

describe('the metrics of a worker event', () => {
  it.each<[string, WorkerEvent, readonly object[]]>([
    [
      'a completed cell, with the latency of its calls',
      { kind: 'cell-completed', key, result: aCellResult({ latencyMs: 20 }), tally: undefined },
      [count('CellsCompleted'), { name: 'CallLatency', unit: 'Milliseconds', value: 20 }],
    ],
    [
      'a failed cell, whose latency is unknown and not 0',
      { kind: 'cell-completed', key, result: aFailedResult(), tally: undefined },
      [count('CellsCompleted'), count('CellsFailed')],
    ],
    [
      'a failed call',
      { kind: 'call-failed', key, error: anError('model-timeout'), waitMs: null },
      [count('CallsFailed')],
    ],
  ])('count %s', (_, event, metrics) => {
    expect(metricsOf(event)).toEqual(metrics);
  });
});
