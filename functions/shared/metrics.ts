import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { WorkerEvent } from '@thrice/core';

/** A figure of a worker event. */
interface Metric {
  readonly name: string;
  readonly unit: (typeof MetricUnit)['Count' | 'Milliseconds'];
  readonly value: number;
}

/**
 * Records the metrics of a worker event by stage and lane.
 *
 * Metrics use CloudWatch's embedded metric format: each is a log line, without a request of its own.
 */
export function countEvent(event: WorkerEvent, stage: string, lane: string): void {
  const counted = metricsOf(event);
  if (counted.length === 0) return;
  const metrics = openMetrics('answer', stage);
  metrics.addDimension('lane', lane);
  for (const { name, unit, value } of counted) metrics.addMetric(name, unit, value);
  metrics.publishStoredMetrics();
}

/** Records that work on a group has failed several times in a row, by stage and function. */
export function countStuckWork(stage: string, work: 'plan' | 'finalize'): void {
  stuckWork(stage, work).publishStoredMetrics();
}

/** The metric of {@link countStuckWork}, which `stacks/alarms.ts` watches. */
export function stuckWork(stage: string, work: 'plan' | 'finalize'): Metrics {
  const metrics = openMetrics(work, stage);
  metrics.addMetric('StuckWork', MetricUnit.Count, 1);
  return metrics;
}

/** An account may have several stages. */
function openMetrics(serviceName: string, stage: string): Metrics {
  const metrics = new Metrics({ namespace: 'Thrice', serviceName });
  metrics.addDimension('stage', stage);
  return metrics;
}

/** The metrics of a worker event: completed and failed cells, failed calls, and call latency. */
export function metricsOf(event: WorkerEvent): readonly Metric[] {
  const once = (name: string): Metric => ({ name, unit: MetricUnit.Count, value: 1 });
  switch (event.kind) {
    case 'cell-completed': {
      const { outcome, latencyMs } = event.result;
      const latency = { name: 'CallLatency', unit: MetricUnit.Milliseconds };
      return [
        once('CellsCompleted'),
        ...(outcome === 'failed' ? [once('CellsFailed')] : []),
        ...(latencyMs === null ? [] : [{ ...latency, value: latencyMs }]),
      ];
    }
    case 'call-failed':
      return [once('CallsFailed')];
    default:
      return [];
  }
}
