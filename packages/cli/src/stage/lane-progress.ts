import { countOf, toThriceError, type WorkerEvent } from '@thrice/core';
import { describeFailure } from '../render/failure-text.ts';
import { reportLine } from '../render/report-line.ts';
import type { Terminal } from '../shell/terminal.ts';
import type { CloudEngine } from './compose-cloud.ts';

/** Interval between two lines about what was done, ms. */
const PROGRESS_MS = 60_000;

type ReportTerminal = Pick<Terminal, 'error' | 'isInteractive' | 'columns' | 'commandName'>;

/** What was done on a lane, in lines: every minute, at the end, and each kind of failure once in that time. */
export class LaneProgress {
  readonly #lane: string;
  readonly #terminal: ReportTerminal;
  readonly #ended = new AbortController();
  readonly #told = new Set<string>();
  #doneCount = 0;
  #failedCount = 0;
  #lostCount = 0;
  #toldCount = 0;

  constructor(lane: string, terminal: ReportTerminal) {
    this.#lane = lane;
    this.#terminal = terminal;
  }

  readonly observe = (event: WorkerEvent): void => {
    if (event.kind === 'cell-completed') {
      this.#doneCount += 1;
      if (event.result.outcome === 'failed') this.#failedCount += 1;
    }
    if (event.kind === 'call-failed') this.fail(event.error);
    if (event.kind === 'call-lost') this.#lostCount += 1;
  };

  readonly fail = (thrown: unknown): void => {
    const error = toThriceError(thrown);
    if (this.#told.has(error.code)) return;
    this.#told.add(error.code);
    for (const line of describeFailure(error)) this.#tell(line);
  };

  /** Reports every minute until it is ended, also while the cells at work are finished. */
  async reportEachMinute({ clock }: Pick<CloudEngine, 'clock'>): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await clock.sleep(PROGRESS_MS, signal);
      if (this.#doneCount > this.#toldCount) this.#report();
      this.#told.clear();
    }
  }

  /** Reports for the last time. */
  end(): void {
    this.#ended.abort();
    this.#report();
  }

  #report(): void {
    this.#toldCount = this.#doneCount;
    const failed = this.#failedCount === 0 ? '' : `, ${this.#failedCount} of them failed`;
    this.#tell(`${countOf(this.#doneCount, 'cell')} completed${failed}`);
    if (this.#lostCount > 0)
      this.#tell(
        `the answers of ${countOf(this.#lostCount, 'call')} could not be saved and are lost; these calls are made and paid again`,
      );
  }

  #tell(line: string): void {
    reportLine(`${this.#lane}: ${line}`, this.#terminal);
  }
}
