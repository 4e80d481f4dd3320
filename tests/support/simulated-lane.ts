import type { CellTask, OpenBreaker } from '@thrice/core';
import { createAnswerHandler } from '../../functions/shared/answer-handler.ts';
import { aModelResponse, anError } from './builders.ts';
import type { FakeClock } from './fake-clock.ts';
import { LambdaStage, taskEvent } from './lambda-stage.ts';

/** How often a worker asks an empty queue, ms. */
const POLL_MS = 250;

/** A vendor with a token bucket that refuses whatever is beyond its rate. */
export interface SimulatedVendor {
  readonly perSecond: number;
  /** How a refusal says when to come back. */
  readonly header: 'seconds' | 'milliseconds' | 'none';
  /** How long an answer takes, ms. */
  readonly latencyMs: number;
  /** Calls that the bucket stores. @default one second's, at least one */
  readonly burst?: number;
}

/** What a simulated run has seen. */
export interface SimulatedRun {
  readonly deliveryCount: number;
  readonly answerCount: number;
  readonly refusalCount: number;
  readonly durationMs: number;
  /** When each answer was given, ms since the start. */
  readonly answeredAtMs: readonly number[];
  /** The delays of the tasks that were sent back, ms. */
  readonly sentBackMs: readonly number[];
  /** What was blocked at the end. */
  readonly openBreakers: readonly OpenBreaker[];
  /** Deferred cells, as `breakerKey group`. */
  readonly deferred: readonly string[];
}

/**
 * Works on the cells of a group with many workers of a stage, in simulated time.
 *
 * Everything but the vendor, the queue and the stores is the real code of the answer function. Each worker is an execution
 * environment of its own. Whatever takes no simulated time happens at once, so all workers call at the same moment.
 */
export async function simulateLane({
  vendor,
  cellCount,
  workerCount,
  endsAfterMs = Number.POSITIVE_INFINITY,
}: {
  readonly vendor: SimulatedVendor;
  readonly cellCount: number;
  readonly workerCount: number;
  /** When the workers stop to take tasks, even if cells are left. @default never */
  readonly endsAfterMs?: number;
}): Promise<SimulatedRun> {
  const lambda = new LambdaStage();
  const { clock, stage, sentLater } = lambda;
  const ids = Array.from({ length: cellCount }, (_, index) => `q${index + 1}`);
  await stage.enter({ ids });
  const startMs = clock.monotonicMs();
  const model = new Vendor(vendor, clock);
  stage.models.become(() => model.answer());
  const visible: { readonly task: CellTask; readonly atMs: number }[] = [];
  for (const id of ids) {
    const { task, ...delivery } = await stage.deliver({ id });
    await stage.queue.acknowledge({ task, ...delivery });
    visible.push({ task, atMs: startMs });
  }
  const seen = { deliveryCount: 0, sentBackMs: [] as number[] };
  const receive = (): CellTask | undefined => {
    for (const { task, delayMs } of sentLater.splice(0)) {
      seen.sentBackMs.push(delayMs);
      visible.push({ task, atMs: clock.monotonicMs() + 1_000 * Math.ceil(delayMs / 1_000) });
    }
    const index = visible.findIndex(({ atMs }) => atMs <= clock.monotonicMs());
    return index === -1 ? undefined : visible.splice(index, 1)[0]?.task;
  };
  const work = async () => {
    const memory = lambda.openMemory();
    const handler = createAnswerHandler({
      compose: () => ({ ...lambda.compose(), ...memory }),
      openModels: lambda.openModels,
    });
    const isOver = () => clock.monotonicMs() - startMs >= endsAfterMs;
    while (model.answeredAtMs.length < cellCount && !isOver()) {
      const task = receive();
      if (task === undefined) {
        await clock.sleep(POLL_MS);
        continue;
      }
      seen.deliveryCount += 1;
      const delivery = { lane: 'lab', task, receipt: `receipt-${seen.deliveryCount}` };
      await handler(taskEvent(delivery), lambda.startInvocation());
    }
  };
  await passTime(clock, Promise.all(Array.from({ length: workerCount }, work)));
  return {
    ...seen,
    answerCount: model.answeredAtMs.length,
    refusalCount: model.refusalCount,
    durationMs: clock.monotonicMs() - startMs,
    answeredAtMs: model.answeredAtMs,
    openBreakers: await stage.ledger.listOpenBreakers(),
    deferred: await stage.deferred(),
  };
}

/** Advances the time from one pending sleep to the next until the work ends. */
async function passTime(clock: FakeClock, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise(setImmediate);
    const nextMs = clock.nextDueInMs;
    if (nextMs !== undefined) clock.advance(nextMs);
  }
  await end;
}

class Vendor {
  readonly answeredAtMs: number[] = [];
  refusalCount = 0;
  readonly #vendor: SimulatedVendor;
  readonly #clock: FakeClock;
  readonly #burst: number;
  readonly #startMs: number;
  #stored: number;
  #filledAtMs: number;

  constructor(vendor: SimulatedVendor, clock: FakeClock) {
    this.#vendor = vendor;
    this.#clock = clock;
    this.#burst = vendor.burst ?? Math.max(1, vendor.perSecond);
    this.#stored = this.#burst;
    this.#startMs = clock.monotonicMs();
    this.#filledAtMs = this.#startMs;
  }

  async answer() {
    const { perSecond, header, latencyMs } = this.#vendor;
    const nowMs = this.#clock.monotonicMs();
    const filled = this.#stored + ((nowMs - this.#filledAtMs) * perSecond) / 1_000;
    this.#stored = Math.min(this.#burst, filled);
    this.#filledAtMs = nowMs;
    if (this.#stored >= 1) {
      this.#stored -= 1;
      await this.#clock.sleep(latencyMs);
      this.answeredAtMs.push(this.#clock.monotonicMs() - this.#startMs);
      return aModelResponse();
    }
    this.refusalCount += 1;
    const waitMs = ((1 - this.#stored) * 1_000) / perSecond;
    await this.#clock.sleep(50);
    if (header === 'none') return anError('model-rate-limited', {});
    const unitMs = header === 'seconds' ? 1_000 : 1;
    return anError('model-rate-limited', { retryAfterMs: Math.ceil(waitMs / unitMs) * unitMs });
  }
}
