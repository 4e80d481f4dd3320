import {
  type Benchmark,
  type Config,
  currentGradedGroup,
  type EarlyEnd,
  type GroupHeader,
  repairTallies,
  type Summary,
  ThriceError,
  type UserCode,
  type WrittenResults,
  writeResults,
} from '@thrice/core';
import type { LocalEngine } from '../local-engine.ts';
import { StagedBlobs } from '../store/staged-blobs.ts';

/** Interval between two pages of rows, ms. */
const PACE_MS = 100;
/** How busy the event loop may be, as a ratio, for a page to be prepared beside the work. */
const MAX_BUSY_RATIO = 0.5;

/** What {@link ResultsAhead} needs. */
interface ResultsAheadOptions {
  readonly engine: LocalEngine;
  readonly header: GroupHeader;
  readonly benchmark: Benchmark;
  readonly userCode: UserCode;
  /** Whether there has been time to spare since the last call. @default as the event loop says */
  readonly hasTime?: () => boolean;
}

/**
 * Prepares the results of a group while it is worked on, so that little is left to write at the end.
 *
 * preparing --publish--> published; preparing --error, abandon, or a commit of another process--> abandoned
 *
 * It is the publication itself, which waits before each page of rows until their cells are final. The rows of a
 * final cell are changed by other processes only, so one commit of another process ends the preparation. Nothing
 * is lost then: the results are still to be written from the ledger, as they always can be.
 */
export class ResultsAhead implements AsyncDisposable {
  readonly #options: ResultsAheadOptions;
  readonly #hasTime: () => boolean;
  readonly #haveOthersWritten: () => boolean;
  readonly #staged: StagedBlobs;
  readonly #written: Promise<WrittenResults | undefined>;
  /** Aborts to wait for no more cells. */
  readonly #ended = new AbortController();
  #isAbandoned = false;
  #earlyEnd: EarlyEnd | undefined;

  constructor(options: ResultsAheadOptions) {
    const { engine, header, hasTime = watchEventLoop() } = options;
    this.#options = options;
    this.#hasTime = hasTime;
    this.#haveOthersWritten = engine.watchOthers();
    this.#staged = new StagedBlobs(engine.blobs, `runs/${header.group}/.ahead`);
    this.#written = this.#write();
  }

  /**
   * Writes the remaining rows as they are, and publishes the results.
   *
   * @param earlyEnd - How the work ended early; undefined for complete work.
   * @returns Undefined, publishing nothing or only a part, if the results have to be written from the ledger.
   */
  async publish(earlyEnd: EarlyEnd | undefined): Promise<Summary | undefined> {
    this.#earlyEnd = earlyEnd;
    this.#ended.abort();
    const written = await this.#written;
    if (written === undefined || this.#isAbandoned || this.#haveOthersWritten()) return undefined;
    try {
      this.#staged.publish();
    } catch {
      // Another process that has just started to work on the group may have removed the files.
      return undefined;
    }
    await repairTallies(this.#options.header, written.tallies, this.#options.engine.ledger);
    return written.summary;
  }

  /** Ends the preparation and frees its space on the disk. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#ended.abort();
    await this.#written;
    // Nothing depends on it: the next preparation removes what is left.
    await this.#staged[Symbol.asyncDispose]().catch(() => undefined);
  }

  async #write(): Promise<WrittenResults | undefined> {
    const { header, benchmark, userCode, engine } = this.#options;
    const { ledger, clock, budgets } = engine;
    const untilFinal = (run: string, config: Config, ids: readonly string[]) =>
      this.#untilFinal(run, config, ids);
    const stores = { ledger, clock, userCode, blobs: this.#staged, budgets, untilFinal };
    try {
      const earlyEnd = () => this.#earlyEnd;
      const graded = await currentGradedGroup({ header, benchmark }, stores);
      return await writeResults(graded, { earlyEnd }, stores);
    } catch {
      // Whatever it was: the results are written again from the ledger, and what fails then is reported.
      await this.#staged[Symbol.asyncDispose]().catch(() => undefined);
      return undefined;
    }
  }

  async #untilFinal(run: string, config: Config, ids: readonly string[]): Promise<void> {
    const { ledger, clock } = this.#options.engine;
    while (!this.#ended.signal.aborted) {
      await clock.sleep(PACE_MS, this.#ended.signal);
      if (this.#haveOthersWritten()) this.#isAbandoned = true;
      if (this.#isAbandoned) break;
      if (this.#hasTime() && ledger.areFinal(run, config, ids)) return;
    }
    if (!this.#isAbandoned) return;
    throw new ThriceError({ code: 'interrupted', message: 'the results are written at the end' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.abandon();
  }
}

/** Returns a function that says whether the event loop was idle for half of the time since its last call. */
function watchEventLoop(): () => boolean {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization <= MAX_BUSY_RATIO;
  };
}
