import { type BatchTools, LaneHealth } from '@thrice/core';
import { FakeBatches } from './fake-batches.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeTaskQueue } from './fake-task-queue.ts';
import { noBatchClients } from './no-batch-clients.ts';

/** What the reconciler works on batches with: by default without batches, and without a vendor. */
export function batchTools(parts: Partial<BatchTools> = {}): BatchTools {
  const clock = new FakeClock();
  return {
    batches: new FakeBatches(),
    queue: new FakeTaskQueue(clock),
    laneHealth: new LaneHealth({ clock, random: () => 0 }),
    batchClientFor: noBatchClients,
    steps: new Map(),
    observe: () => undefined,
    hasTimeToSend: () => true,
    signal: new AbortController().signal,
    ...parts,
  };
}
