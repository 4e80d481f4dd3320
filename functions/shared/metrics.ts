import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import type { WorkerEvent } from '@thrice/core';

/**
 * Records metrics of a worker event by lane: completed and failed cells, failed calls, and call latency.
 *
 * Metrics use CloudWatch's embedded metric format: each is a log line, without a request of its own.
 */
export function countEvent(event: WorkerEvent, lane: string): void {
  const metrics = new Metrics({ namespace: 'Thrice', serviceName: 'answer' });
  metrics.addDimension('lane', lane);
  switch (event.kind) {
    case 'cell-completed': {
      const { outcome, latencyMs } = event.result;
      metrics.addMetric('CellsCompleted', MetricUnit.Count, 1);
      if (outcome === 'failed') metrics.addMetric('CellsFailed', MetricUnit.Count, 1);
      if (latencyMs !== null) {
        metrics.addMetric('CallLatency', MetricUnit.Milliseconds, latencyMs);
      }
      break;
    }
    case 'call-failed':
      metrics.addMetric('CallsFailed', MetricUnit.Count, 1);
      break;
    default:
      return;
  }
  metrics.publishStoredMetrics();
}
