import { randomUUID } from 'node:crypto';
import { type HeldRequest, ThriceError, type WorkPartOptions } from '@thrice/core';
import type { ControlComposition } from './compose-control.ts';
import type { LambdaContext } from './lambda-context.ts';
import type { Log } from './log.ts';
import { countStuckWork } from './metrics.ts';
import type { SqsRecord } from './sqs-event.ts';

/** Time reserved at the end of an invocation, ms: for the page in progress and the request for the next part. */
const RESERVE_MS = 60_000;
/** Duration of one part, ms: short, so that many groups share the function. */
const PART_MS = 60_000;

/** Creates the options of a part of work that begins now. */
export function createWorkPartOptions(
  work: 'plan' | 'finalize',
  {
    group,
    record,
    context,
    composition: { clock, stage },
    log,
  }: {
    readonly group: string;
    readonly record: SqsRecord;
    readonly context: LambdaContext;
    readonly composition: Pick<ControlComposition, 'clock' | 'stage'>;
    readonly log: Log;
  },
): WorkPartOptions {
  const remainingMs = context.getRemainingTimeInMillis() - RESERVE_MS;
  const endsAtMs = clock.monotonicMs() + Math.min(PART_MS, remainingMs);
  return {
    owner: randomUUID(),
    requestId: record.messageId,
    isRedelivered: record.attributes.ApproximateReceiveCount > 1,
    isOutOfTime: () => clock.monotonicMs() >= endsAtMs,
    onStuck: (failureCount) => {
      log.error('stuck', { group, work, failureCount });
      countStuckWork(stage.stage, work);
    },
  };
}

/**
 * Drops a request for work that another worker is at, unless it is still needed.
 *
 * @throws {ThriceError} `lease-lost` for a request that has to be delivered again, with the delay.
 */
export function dropUnlessNeeded({ retryInMs }: HeldRequest): void {
  if (retryInMs === undefined) return;
  throw new ThriceError({
    code: 'lease-lost',
    message: 'another worker has the work, or had it until it failed',
    details: { retryAfterMs: retryInMs },
  });
}
