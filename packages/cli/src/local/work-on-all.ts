import {
  type Clock,
  type GroupRecord,
  limits,
  type OpenBreaker,
  type UnreadableGroup,
} from '@thrice/core';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';

/** Interval at which groups are looked for, ms. */
const LOOK_MS = 2_000;

/** What {@link workOnAll} finds in the store. */
export interface GroupStore {
  /** Lists groups, newest first, and tells those that cannot be read. */
  listGroups(onUnreadable: (group: UnreadableGroup) => void): Promise<readonly GroupRecord[]>;
  /** Whether a group has cells or results left that no other process works on. */
  isLeft(record: GroupRecord): Promise<boolean>;
  /** The open breakers that can block a group. */
  breakersOf(record: GroupRecord): Promise<readonly OpenBreaker[]>;
}

/** What {@link workOnAll} needs. */
export interface WorkOnAllOptions {
  readonly store: GroupStore;
  readonly clock: Clock;
  /** Works on a group until nothing is left to do, and says whether everything that is left waits. */
  readonly workOn: (
    record: GroupRecord,
    onWaiting: (areAllWaiting: boolean) => void,
  ) => Promise<ExitCode>;
  /** Told what happens to a group, one line each. */
  readonly report: (group: string, event: string) => void;
  /** Describes what ended the work on a group with an error. */
  readonly describeError: (error: unknown) => string;
  /** Aborts to start no more groups; returns when those at work have ended. */
  readonly drainSignal: AbortSignal;
}

/** A group that cannot be worked on for now. */
interface SetAside {
  /** How often its plan was edited by then. */
  readonly editCount: number;
  /** The breakers that were open then. */
  readonly breakers: string;
  /** When it is tried again although nothing has changed, monotonic ms; never after a misconfiguration or at a budget. */
  readonly untilMs: number;
}

/**
 * Works on whatever is left in a store, oldest group first, until it is told to stop.
 *
 * A group is worked on alone until it is done or everything that is left of it waits for blocked lanes; then the next
 * begins beside it. So a group whose quota ran out delays no other, and continues at its reset.
 *
 * left --seen twice, and all at work wait--> at work --complete--> done
 * at work --it pauses or fails--> set aside --its breakers or its plan change, or its time is over--> left
 */
export async function workOnAll(options: WorkOnAllOptions): Promise<void> {
  const { clock, drainSignal } = options;
  const work = new AllWork(options);
  while (!drainSignal.aborted) {
    await work.look();
    await clock.sleep(LOOK_MS, drainSignal);
  }
  await work.end();
}

class AllWork {
  readonly #options: WorkOnAllOptions;
  /** The groups at work, and whether everything that is left of each waits. */
  readonly #waiting = new Map<string, boolean>();
  readonly #endings = new Set<Promise<void>>();
  readonly #setAside = new Map<string, SetAside>();
  /** Groups that nobody worked on at the last look: a command that has just created one starts to within this time. */
  #seen: ReadonlySet<string> = new Set();
  /** Why the store could not be read at the last look; undefined if it was. */
  #storeProblem: string | undefined;
  /** What was wrong at the last look with the groups that cannot be read. */
  #unreadable: ReadonlyMap<string, string> = new Map();

  constructor(options: WorkOnAllOptions) {
    this.#options = options;
  }

  /** Starts the oldest group that is left, unless one is at work that does not wait. */
  async look(): Promise<void> {
    if (![...this.#waiting.values()].every(Boolean)) return;
    try {
      const left = await this.#listLeft();
      const next = left.find(({ header }) => this.#seen.has(header.group));
      this.#seen = new Set(left.map(({ header }) => header.group));
      if (next !== undefined) this.#start(next);
      this.#storeProblem = undefined;
    } catch (error) {
      const problem = this.#options.describeError(error);
      // It may last for a night: every look meets it again.
      if (problem !== this.#storeProblem) this.#options.report('store', problem);
      this.#storeProblem = problem;
    }
  }

  /** Resolves when no group is at work any more. */
  async end(): Promise<void> {
    await Promise.all(this.#endings);
  }

  async #listLeft(): Promise<readonly GroupRecord[]> {
    const { store } = this.#options;
    const left: GroupRecord[] = [];
    for (const record of (await this.#listReadable()).toReversed()) {
      const { group } = record.header;
      if (record.state !== 'active' || this.#waiting.has(group)) continue;
      try {
        if (await this.#isSetAside(record)) continue;
        if (await store.isLeft(record)) left.push(record);
      } catch (error) {
        this.#options.report(group, this.#options.describeError(error));
        await this.#setGroupAside(record);
      }
    }
    return left;
  }

  async #listReadable(): Promise<readonly GroupRecord[]> {
    const { store, report, describeError } = this.#options;
    const unreadable = new Map<string, string>();
    const groups = await store.listGroups(({ group, error }) => {
      const problem = describeError(error);
      // Once, as for the store.
      if (this.#unreadable.get(group) !== problem) report(group, problem);
      unreadable.set(group, problem);
    });
    this.#unreadable = unreadable;
    return groups;
  }

  async #isSetAside(record: GroupRecord): Promise<boolean> {
    const { store, clock } = this.#options;
    const aside = this.#setAside.get(record.header.group);
    if (aside === undefined) return false;
    const isEdited = record.header.edits.length !== aside.editCount;
    if (isEdited || clock.monotonicMs() >= aside.untilMs) return false;
    return signatureOf(await store.breakersOf(record)) === aside.breakers;
  }

  #start(record: GroupRecord): void {
    const { group } = record.header;
    this.#setAside.delete(group);
    this.#waiting.set(group, false);
    const ending = this.#workOn(record).finally(() => {
      this.#waiting.delete(group);
      this.#endings.delete(ending);
    });
    this.#endings.add(ending);
  }

  async #workOn(record: GroupRecord): Promise<void> {
    const { report, workOn, describeError, drainSignal } = this.#options;
    const { group } = record.header;
    report(group, 'working');
    try {
      const exitCode = await workOn(record, (areAllWaiting) => {
        this.#waiting.set(group, areAllWaiting);
      });
      report(group, describeEnd(exitCode));
      if (exitCode === exitCodes.paused) await this.#setGroupAside(record);
      // Only its user can raise a budget.
      if (exitCode === exitCodes.pausedAtBudget) await this.#setGroupAside(record, true);
    } catch (error) {
      report(group, describeError(error));
      if (!drainSignal.aborted) await this.#setGroupAside(record);
    }
  }

  /** @param isForGood - Whether only an edit helps. @default as its breakers say */
  async #setGroupAside(record: GroupRecord, isForGood?: boolean): Promise<void> {
    const { store, clock } = this.#options;
    const breakers = await store.breakersOf(record).catch(() => []);
    const isMisconfigured = breakers.some(({ error }) => error.class === 'misconfigured');
    this.#setAside.set(record.header.group, {
      editCount: record.header.edits.length,
      breakers: signatureOf(breakers),
      untilMs:
        (isForGood ?? isMisconfigured)
          ? Number.POSITIVE_INFINITY
          : clock.monotonicMs() + limits.quotaBackoffCapMs,
    });
  }
}

function signatureOf(breakers: readonly OpenBreaker[]): string {
  const names = breakers.map(({ breakerKey, openedAt }) => `${breakerKey} ${openedAt}`);
  return JSON.stringify(names.toSorted());
}

function describeEnd(exitCode: ExitCode): string {
  switch (exitCode) {
    case exitCodes.complete:
      return 'complete';
    case exitCodes.withoutScore:
      return 'finished; some cells have no score';
    case exitCodes.pausedAtBudget:
      return 'paused at its budget; set aside until that is raised';
    case exitCodes.paused:
      return 'paused; set aside until its lanes change';
    default:
      return 'stopped';
  }
}
