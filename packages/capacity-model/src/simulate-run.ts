import { awsLimits } from './aws-limits.ts';
import {
  answeredCell,
  deliveredCell,
  heartbeat,
  LONGEST_CALL_SECONDS,
  sumOf,
  timing,
} from './cell-protocol.ts';
import { EventQueue } from './event-queue.ts';
import { MessageBacklog } from './message-backlog.ts';
import type { RunCounts } from './run-cost.ts';
import { concurrencyCap, deliveriesOf, type Scenario } from './scenario.ts';

/** What limited a run. */
export type QuotaName =
  | 'lane-concurrency'
  | 'account-concurrency'
  | 'partition-writes'
  | 'answer-timeout'
  | 'finalize-timeout'
  | 'message-retention';

/** A quota that was reached. */
export interface Bite {
  readonly quota: QuotaName;
  /** First time, s since the start. */
  readonly atSeconds: number;
  /** Cells or deliveries concerned; 0 where that says nothing. */
  readonly count: number;
}

/** How a run went. */
export interface RunOutcome {
  /** From the plan's first task to the written results, s. */
  readonly wallSeconds: number;
  readonly peakConcurrency: number;
  /** When the peak was reached first, s. */
  readonly peakAtSeconds: number;
  /** Write units on the partition of (run, config) in the busiest window, per second. */
  readonly peakPartitionWrites: number;
  /** Age of the oldest message that was received, s. */
  readonly oldestMessageSeconds: number;
  /** Messages that were never received. */
  readonly expiredMessages: number;
  readonly counts: RunCounts;
  /** Quotas in the order in which they were reached. */
  readonly bites: readonly Bite[];
}

const PAGE_SENT = 0;
const POLLER_ADDED = 1;
const ANSWERED = 2;
const CUT_OFF = 3;

/** Throughput is judged by means over so many seconds: DynamoDB lets short bursts pass. */
const WINDOW_SECONDS = 10;
const SECONDS_PER_POLLER = 60 / awsLimits.mappingAddedPerMinute.value;
const UNITS_PER_ANSWER = sumOf([...deliveredCell, ...answeredCell], cellUnits);
const UNITS_PER_BEAT = sumOf(heartbeat, cellUnits);

/**
 * Simulates a run event by event: pages of tasks that are sent, pollers that are added, deliveries that
 * end.
 *
 * Exact: every delivery with a time of its own, the order of messages, their age, the number of
 * deliveries at once. Counted and not queued: heartbeats (they follow from an delivery's time), requests,
 * finalization (a rate). Left out: cold starts, errors of the model or of AWS, throttling by DynamoDB
 * (reported as reached), messages delivered twice.
 *
 * @param random - Uniform in 0 <= x < 1; the same numbers give the same outcome.
 * @throws RangeError when no delivery could ever end with an answer, or the lane gets no concurrency.
 */
export function simulateRun(scenario: Scenario, random: () => number): RunOutcome {
  return new RunSimulation(scenario, random).run();
}

class RunSimulation {
  readonly #questions: number;
  readonly #cap: number;
  readonly #isAccountShort: boolean;
  readonly #deliveries: ReturnType<typeof deliveriesOf>;
  readonly #random: () => number;
  readonly #events = new EventQueue();
  readonly #backlog = new MessageBacklog(awsLimits.retentionSeconds.value);
  readonly #bites = new Map<QuotaName, { atSeconds: number; count: number }>();

  #unsent = 0;
  #pollers = 0;
  #pollingSince = 0;
  #isCapReached = false;
  #running = 0;
  #peak = 0;
  #peakAt = 0;
  #oldest = 0;
  #window = 0;
  #windowUnits = 0;
  #peakWrites = 0;

  #planned = 0;
  #started = 0;
  #answered = 0;
  #handedBack = 0;
  #retaken = 0;
  #heartbeats = 0;
  #answerSeconds = 0;
  #planSeconds = 0;
  #recordsRead = 0;
  #finalizeSeconds = 0;
  #finalizations = 0;

  constructor(scenario: Scenario, random: () => number) {
    this.#questions = scenario.questions;
    this.#cap = concurrencyCap(scenario);
    this.#isAccountShort = this.#cap < scenario.laneConcurrency;
    this.#deliveries = deliveriesOf(scenario);
    this.#random = random;
    if (this.#cap < 1) throw new RangeError('the account has no concurrency left for the lane');
    if (!this.#deliveries.isCutOff.includes(0)) {
      throw new RangeError(`no call ends within ${LONGEST_CALL_SECONDS} s`);
    }
  }

  run(): RunOutcome {
    this.#plan(this.#questions, 0);
    this.#startPolling(0);
    while (this.#answered < this.#questions) {
      const event = this.#events.pop();
      if (event === undefined) this.#refill();
      else this.#handle(event);
    }
    const endSeconds = this.#events.nowSeconds;
    this.#finalize(endSeconds);
    const { expiredCount, expiredAtSeconds } = this.#backlog;
    if (expiredCount > 0) this.#bite('message-retention', expiredAtSeconds, expiredCount);
    return {
      wallSeconds: endSeconds + this.#questions / timing.finalizeCellsPerSecond,
      peakConcurrency: this.#peak,
      peakAtSeconds: this.#peakAt,
      peakPartitionWrites: this.#peakWrites,
      oldestMessageSeconds: this.#oldest,
      expiredMessages: expiredCount,
      counts: this.#counts(),
      bites: [...this.#bites]
        .map(([quota, bite]) => ({ quota, ...bite }))
        .sort((left, right) => left.atSeconds - right.atSeconds),
    };
  }

  #handle(event: number): void {
    const nowSeconds = this.#events.nowSeconds;
    if (event === ANSWERED) {
      this.#running -= 1;
      this.#answered += 1;
      this.#countWrites(nowSeconds);
    } else if (event === CUT_OFF) {
      this.#running -= 1;
      this.#handedBack += 1;
      this.#bite('answer-timeout', nowSeconds);
      this.#backlog.push(nowSeconds, 1, true);
    } else if (event === POLLER_ADDED) this.#addPoller();
    else this.#sendPage(nowSeconds);
    this.#startAttempts(nowSeconds);
  }

  /** Starts sending tasks at a time. */
  #plan(cells: number, fromSeconds: number): void {
    this.#unsent = cells;
    this.#planSeconds += cells / timing.planCellsPerSecond;
    this.#pushPage(fromSeconds);
  }

  #pushPage(fromSeconds: number): void {
    const size = Math.min(this.#unsent, timing.pageCells);
    this.#events.push(fromSeconds + size / timing.planCellsPerSecond, PAGE_SENT);
  }

  #sendPage(nowSeconds: number): void {
    const size = Math.min(this.#unsent, timing.pageCells);
    this.#unsent -= size;
    this.#planned += size;
    this.#backlog.push(nowSeconds, size, false);
    if (this.#unsent > 0) this.#pushPage(nowSeconds);
  }

  /** As for a queue that was empty before. */
  #startPolling(fromSeconds: number): void {
    this.#pollers = Math.min(this.#cap, awsLimits.mappingStart.value);
    this.#pollingSince = fromSeconds;
    this.#awaitPoller();
  }

  #awaitPoller(): void {
    if (this.#pollers === this.#cap) return;
    const added = this.#pollers + 1 - awsLimits.mappingStart.value;
    this.#events.push(this.#pollingSince + added * SECONDS_PER_POLLER, POLLER_ADDED);
  }

  /** One poller more, as long as there is something left to poll for. */
  #addPoller(): void {
    this.#pollers += 1;
    if (this.#unsent > 0 || !this.#backlog.isEmpty) this.#awaitPoller();
  }

  #startAttempts(nowSeconds: number): void {
    while (this.#running < this.#pollers && this.#backlog.take(nowSeconds)) this.#start(nowSeconds);
    if (!this.#isCapReached && this.#running === this.#cap && !this.#backlog.isEmpty) {
      this.#isCapReached = true;
      this.#bite(this.#isAccountShort ? 'account-concurrency' : 'lane-concurrency', nowSeconds, 0);
    }
  }

  #start(nowSeconds: number): void {
    const { seconds, heartbeats, isCutOff } = this.#deliveries;
    const index = Math.floor(this.#random() * seconds.length);
    const duration = seconds[index] ?? 0;
    this.#started += 1;
    this.#running += 1;
    this.#answerSeconds += duration;
    this.#heartbeats += heartbeats[index] ?? 0;
    if (this.#backlog.isTakenAgain) this.#retaken += 1;
    this.#oldest = Math.max(this.#oldest, this.#backlog.takenAgeSeconds);
    if (this.#running > this.#peak) {
      this.#peak = this.#running;
      this.#peakAt = nowSeconds;
    }
    this.#events.push(nowSeconds + duration, isCutOff[index] === 1 ? CUT_OFF : ANSWERED);
  }

  /**
   * Nothing is under way and cells are open: their messages have expired. The reconciler notices, the
   * results are written as they stand, and the missing tasks are sent again: a walk over all cells,
   * which finds the answered ones first.
   */
  #refill(): void {
    const haltedAt = this.#events.nowSeconds;
    const missing = this.#questions - this.#answered;
    this.#finalize(haltedAt);
    this.#recordsRead += this.#questions;
    this.#planSeconds += this.#answered / timing.planCellsPerSecond;
    const delaySeconds =
      timing.reconcilerNoticeSeconds +
      this.#questions / timing.finalizeCellsPerSecond +
      this.#answered / timing.planCellsPerSecond;
    this.#plan(missing, haltedAt + delaySeconds);
    this.#startPolling(haltedAt + delaySeconds);
  }

  #finalize(atSeconds: number): void {
    const seconds = this.#questions / timing.finalizeCellsPerSecond;
    this.#finalizations += 1;
    this.#finalizeSeconds += seconds;
    this.#recordsRead += this.#questions;
    if (seconds > timing.functionTimeoutSeconds) {
      this.#bite('finalize-timeout', atSeconds + timing.functionTimeoutSeconds);
    }
  }

  /** Adds an answer's writes to its window; the leases of all others are spread evenly. */
  #countWrites(nowSeconds: number): void {
    const window = Math.floor(nowSeconds / WINDOW_SECONDS);
    if (window !== this.#window) {
      const beats = this.#running / timing.heartbeatSeconds;
      const writes = this.#windowUnits / WINDOW_SECONDS + beats * UNITS_PER_BEAT;
      if (writes > awsLimits.partitionWriteUnits.value) {
        this.#bite('partition-writes', this.#window * WINDOW_SECONDS, 0);
      }
      this.#peakWrites = Math.max(this.#peakWrites, writes);
      this.#window = window;
      this.#windowUnits = 0;
    }
    this.#windowUnits += UNITS_PER_ANSWER;
  }

  #bite(quota: QuotaName, atSeconds: number, count = 1): void {
    const known = this.#bites.get(quota);
    if (known === undefined) this.#bites.set(quota, { atSeconds, count });
    else known.count += count;
  }

  #counts(): RunCounts {
    return {
      planned: this.#planned,
      deliveries: this.#started,
      answered: this.#answered,
      handedBack: this.#handedBack,
      retaken: this.#retaken,
      heartbeats: this.#heartbeats,
      answerSeconds: this.#answerSeconds,
      planSeconds: this.#planSeconds,
      recordsRead: this.#recordsRead,
      finalizeSeconds: this.#finalizeSeconds,
      finalizations: this.#finalizations,
    };
  }
}

function cellUnits({
  partition,
  writeUnits = 0,
}: {
  readonly partition?: string;
  readonly writeUnits?: number;
}): number {
  return partition === 'cells' ? writeUnits : 0;
}
