import {
  backoffMs,
  type Clock,
  type Delivery,
  type TaskSettlement,
  type ThriceError,
  toThriceError,
} from '@thrice/core';
import type { CloudEngine } from './compose-cloud.ts';

/** Interval at which an empty queue is asked again, ms. */
const POLL_MS = 2_000;
/** Delay of a task when a store fails, as that of the functions. */
const STORE_BACKOFF = { baseMs: 30_000, capMs: 900_000 };

/** What {@link workOnLane} needs. */
export interface LaneWorkOrder {
  readonly lane: string;
  readonly queue: CloudEngine['queue'];
  /** Cells at work at most. */
  readonly parallel: number;
  readonly answer: (delivery: Delivery) => Promise<TaskSettlement>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Told what fails, one line each. */
  readonly report: (error: unknown) => void;
  /** Aborts to take no more tasks; returns when those at work have ended. */
  readonly drainSignal: AbortSignal;
}

/**
 * Works on the tasks of one lane's queue of a stage until it is told to stop.
 *
 * received --answered--> acknowledged
 * received --has to wait--> sent again with a delay, and acknowledged
 * received --a store fails--> released, to be received again
 *
 * @throws {ThriceError} `missing-key`, when the others at work have ended: no task of the lane can be answered here.
 */
export async function workOnLane(order: LaneWorkOrder): Promise<void> {
  const { parallel, clock, drainSignal } = order;
  const atWork = new Set<Promise<void>>();
  const failed = new AbortController();
  const stop = AbortSignal.any([drainSignal, failed.signal]);
  const stopped = new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve(), { once: true });
  });
  let failure: ThriceError | undefined;
  while (!stop.aborted) {
    const deliveries = await receive(order, parallel - atWork.size);
    for (const delivery of deliveries) {
      const work = settle(delivery, order)
        .catch((error: unknown) => {
          failure ??= toThriceError(error);
          failed.abort();
        })
        .finally(() => atWork.delete(work));
      atWork.add(work);
    }
    if (deliveries.length === 0) await clock.sleep(POLL_MS, stop);
    else if (atWork.size >= parallel) await Promise.race([...atWork, stopped]);
  }
  await Promise.all(atWork);
  if (failure !== undefined) throw failure;
}

/** Receives tasks; none where the queue cannot be reached for now. */
async function receive(
  { queue, lane, report }: LaneWorkOrder,
  max: number,
): Promise<readonly Delivery[]> {
  try {
    return await queue.receive(lane, max);
  } catch (error) {
    report(error);
    return [];
  }
}

/** @throws {ThriceError} `missing-key`, with the task given back. */
async function settle(delivery: Delivery, order: LaneWorkOrder): Promise<void> {
  const { queue, lane, answer, report, random } = order;
  try {
    const settlement = await answer(delivery);
    // As a new message: a release would use up a receive.
    if (settlement.kind === 'resend')
      await queue.sendLater(lane, settlement.task, settlement.delayMs);
    await queue.acknowledge(delivery);
  } catch (thrown) {
    const error = toThriceError(thrown);
    const isLasting = error.code === 'missing-key';
    const delayMs = isLasting ? 0 : backoffMs(1, { ...STORE_BACKOFF, random });
    await queue.release(delivery, delayMs).catch(() => undefined);
    if (isLasting) throw error;
    report(error);
  }
}
