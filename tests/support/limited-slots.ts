import { type LaneSlots, type Permit, SharedGovernor, UNLIMITED } from '@thrice/core';
import { aUsage } from './builders.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeLanePaces } from './fake-lane-paces.ts';
import { FakeLaneSlots } from './fake-lane-slots.ts';
import { seededDraw } from './kill-tracker.ts';

/** How long a request to the store takes, ms. */
const REQUEST_MS = 5;
/** How long it takes until a function that has answered a message is called with the next, ms. */
const NEXT_MESSAGE_MS = 20;

/** Functions that answer the cells of one group, one after the other. */
export interface SlotUser {
  readonly group: string;
  readonly functionCount: number;
  readonly maxConcurrency: number;
  /** @default that of all */
  readonly callMs?: number;
  /** Of the time in which the functions work, seconds. @default all of it */
  readonly fromSecond?: number;
  readonly untilSecond?: number;
}

/** What a vendor has seen. */
export interface SlotReport {
  /** The most calls that were in flight together. */
  readonly most: number;
  /** Mean calls in flight of a group between two seconds; of all groups without one. */
  meanInFlight(fromSecond: number, untilSecond: number, group?: string): number;
  /** The most that were in flight together between two seconds. */
  mostBetween(fromSecond: number, untilSecond: number): number;
  /** The most that were in flight together when a call of a group began. */
  mostDuring(group: string): number;
  /** How often these were asked of the store for a call. */
  requestsPerCall(...methods: readonly (keyof LaneSlots)[]): number;
  /** The longest that a cell took from its first message to its call, seconds. */
  readonly longestWaitS: number;
  readonly sentBackCount: number;
}

interface Call {
  readonly group: string;
  readonly fromMs: number;
  untilMs: number;
}

/**
 * Lets functions call a lane whose specs limit the calls in flight, in simulated time.
 *
 * @param deathEveryS - So often a function that has a call in flight dies; a new one takes its place. @default never
 */
export async function callLimitedLane({
  users,
  callMs,
  seconds,
  deathEveryS,
}: {
  readonly users: readonly SlotUser[];
  readonly callMs: number;
  readonly seconds: number;
  readonly deathEveryS?: number;
}): Promise<SlotReport> {
  const clock = new FakeClock();
  const slots = new FakeLaneSlots();
  const paces = new FakeLanePaces();
  const calls: Call[] = [];
  const waitsMs: number[] = [];
  const end = new AbortController();
  let sentBackCount = 0;
  let tokenNo = 0;
  let deathCount = 0;
  slots.onCall = async () => await clock.sleep(REQUEST_MS, end.signal);
  const nowMs = () => clock.monotonicMs();
  const isOver = () => nowMs() >= seconds * 1_000;
  const createToken = () => {
    tokenNo += 1;
    return `token-${tokenNo}`;
  };

  async function answerCells(user: SlotUser, index: number): Promise<void> {
    const random = seededDraw(index + 1);
    const open = () => {
      const store = new MortalSlots(slots);
      return {
        store,
        governor: new SharedGovernor({ paces, slots: store, clock, random, createToken }),
      };
    };
    let process = open();
    const untilMs = (user.untilSecond ?? seconds) * 1_000;
    await clock.sleep((user.fromSecond ?? 0) * 1_000, end.signal);
    while (!isOver() && nowMs() < untilMs) {
      if (await answerCell(process.governor, user, random)) {
        process.store.isDead = true;
        process = open();
      }
      await clock.sleep(NEXT_MESSAGE_MS * (0.5 + random()), end.signal);
    }
  }

  /** Answers one cell, as often as its message comes back. Returns whether the function has died meanwhile. */
  async function answerCell(governor: SharedGovernor, user: SlotUser, random: () => number) {
    const { group, maxConcurrency } = user;
    const startedMs = nowMs();
    for (;;) {
      const grant = await governor.forCell().grant({
        ...{ group, maxConcurrency, lane: 'lab', model: 'm', limits: UNLIMITED },
        ...{ inputTokens: 10, estimatedTokens: null, canWait: () => true, signal: end.signal },
      });
      if (grant.kind === 'granted') {
        waitsMs.push(nowMs() - startedMs);
        return await makeCall(grant.permit, group, (user.callMs ?? callMs) * (0.5 + random()));
      }
      sentBackCount += 1;
      await clock.sleep(grant.atMs - clock.now(), end.signal);
    }
  }

  /** Returns whether the function has died while its call was in flight. */
  async function makeCall(permit: Permit, group: string, tookMs: number): Promise<boolean> {
    const call = { group, fromMs: nowMs(), untilMs: nowMs() + tookMs };
    calls.push(call);
    const isDeadly = nowMs() >= (deathCount + 1) * (deathEveryS ?? seconds) * 1_000;
    if (isDeadly) deathCount += 1;
    await clock.sleep(isDeadly ? tookMs / 2 : tookMs, end.signal);
    call.untilMs = nowMs();
    if (!isDeadly) await permit.settle({ kind: 'answered', usage: aUsage(), rateLimits: {} });
    return isDeadly;
  }

  const functions = users.flatMap((user, no) =>
    Array.from({ length: user.functionCount }, (_, index) =>
      answerCells(user, no * 1_000 + index).catch((error: unknown) => {
        if (!isOver()) throw error;
      }),
    ),
  );
  await passTime(clock, Promise.all(functions), () => isOver() && end.abort());
  const meanInFlight = (fromSecond: number, untilSecond: number, group?: string) => {
    const [fromMs, untilMs] = [fromSecond * 1_000, untilSecond * 1_000];
    const own = calls.filter((call) => group === undefined || call.group === group);
    const sum = own.reduce(
      (total, call) =>
        total + Math.max(0, Math.min(call.untilMs, untilMs) - Math.max(call.fromMs, fromMs)),
      0,
    );
    return sum / (untilMs - fromMs);
  };
  return {
    most: mostAtOnce(calls),
    meanInFlight,
    mostBetween: (fromSecond, untilSecond) =>
      mostAtOnce(
        calls.filter(
          (call) => call.untilMs > fromSecond * 1_000 && call.fromMs < untilSecond * 1_000,
        ),
        fromSecond * 1_000,
      ),
    mostDuring: (group) => {
      const starts = calls.filter((call) => call.group === group).map(({ fromMs }) => fromMs);
      return Math.max(...starts.map((atMs) => countAt(calls, atMs)));
    },
    requestsPerCall: (...methods) =>
      slots.log.filter((method) => methods.includes(method)).length / calls.length,
    longestWaitS: Math.max(...waitsMs) / 1_000,
    sentBackCount,
  };
}

/** The slots as a process sees them that sends nothing more once it is dead. */
class MortalSlots implements LaneSlots {
  isDead = false;
  readonly #slots: LaneSlots;

  constructor(slots: LaneSlots) {
    this.#slots = slots;
  }

  readonly read: LaneSlots['read'] = (...args) => this.#ask(() => this.#slots.read(...args));
  readonly replace: LaneSlots['replace'] = (...args) =>
    this.#ask(() => this.#slots.replace(...args));
  readonly take: LaneSlots['take'] = (...args) => this.#ask(() => this.#slots.take(...args));
  readonly extend: LaneSlots['extend'] = (...args) => this.#ask(() => this.#slots.extend(...args));
  readonly giveBack: LaneSlots['giveBack'] = (...args) =>
    this.#ask(() => this.#slots.giveBack(...args));
  readonly free: LaneSlots['free'] = (...args) => this.#ask(() => this.#slots.free(...args));
  readonly join: LaneSlots['join'] = (...args) => this.#ask(() => this.#slots.join(...args));
  readonly noteWaiting: LaneSlots['noteWaiting'] = (...args) =>
    this.#ask(() => this.#slots.noteWaiting(...args));
  readonly reserveReturn: LaneSlots['reserveReturn'] = (...args) =>
    this.#ask(() => this.#slots.reserveReturn(...args));

  #ask<T>(request: () => Promise<T>): Promise<T> {
    return this.isDead ? new Promise(() => undefined) : request();
  }
}

/** The most that are in flight together when one of them begins, or at a time. */
function mostAtOnce(calls: readonly Call[], atMs = 0): number {
  return Math.max(
    ...[atMs, ...calls.map(({ fromMs }) => fromMs)].map((each) => countAt(calls, each)),
  );
}

function countAt(calls: readonly Call[], atMs: number): number {
  return calls.filter(({ fromMs, untilMs }) => fromMs <= atMs && atMs < untilMs).length;
}

/** Advances the time from one pending sleep to the next until the work ends. */
async function passTime(clock: FakeClock, work: Promise<unknown>, onStep: () => void) {
  let isEnded = false;
  const end = work.finally(() => {
    isEnded = true;
  });
  while (!isEnded) {
    await new Promise(setImmediate);
    onStep();
    const nextMs = clock.nextDueInMs;
    if (nextMs !== undefined) clock.advance(nextMs);
  }
  await end;
}
