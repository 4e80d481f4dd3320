import type { Clock, GroupHeader, Ledger, WorkerEvent } from '@thrice/core';
import { type ConfigStatus, countConfigs } from '../engine/group-status.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';
import { describeOpenBreaker } from './breaker-text.ts';
import { LiveBlock } from './live-block.ts';
import { describeDuration, RateMeter } from './rate-meter.ts';
import { progressBar } from './status-view.ts';

/** How often a terminal is redrawn, ms. */
const REDRAW_MS = 250;
/** How often a log gets a line, ms. */
const LOG_MS = 5_000;
/** Below this many columns the bars are short. */
const NARROW_COLUMNS = 80;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/**
 * Shows how the work goes: one bar a config on a terminal, one plain line every few seconds in a log.
 *
 * Counts grow with this process's own cells and are set to the ledger's at every look, so that cells
 * completed by other processes count too.
 */
export class Progress {
  readonly #terminal: Terminal;
  readonly #now: () => number;
  readonly #block: LiveBlock;
  readonly #meter = new RateMeter();
  readonly #configs: ReadonlyMap<string, Mutable<ConfigStatus>>;
  readonly #noted = new Set<string>();
  readonly #recount: () => Promise<readonly ConfigStatus[]>;

  constructor(init: {
    readonly terminal: Terminal;
    readonly now: () => number;
    readonly configs: readonly ConfigStatus[];
    /** The ledger's counts as they are now. */
    readonly recount: () => Promise<readonly ConfigStatus[]>;
  }) {
    this.#recount = init.recount;
    this.#terminal = init.terminal;
    this.#now = init.now;
    this.#block = new LiveBlock(init.terminal);
    this.#configs = new Map(init.configs.map((config) => [config.config, { ...config }]));
  }

  /** Shows progress while `work` goes on. */
  async around<T>(work: Promise<T>): Promise<T> {
    this.#meter.add(this.#now(), this.#doneCount());
    const timer = setInterval(
      () => void this.#look(),
      this.#terminal.isInteractive ? REDRAW_MS : LOG_MS,
    );
    try {
      return await work;
    } finally {
      clearInterval(timer);
      await this.#look();
      this.#block.end();
    }
  }

  async #look(): Promise<void> {
    // A store that cannot be read ends the work with its own error; here it only leaves old counts.
    const counted = await this.#recount().catch(() => []);
    for (const config of counted) {
      const own = this.#configs.get(config.config);
      // The ledger counts a cell's retries when the cell is done, events as they happen.
      const retries = Math.max(own?.retries ?? 0, config.retries);
      if (own !== undefined) Object.assign(own, config, { retries });
    }
    this.#show();
  }

  observe(event: WorkerEvent): void {
    switch (event.kind) {
      case 'cell-completed':
        this.#complete(event.key.config, event.result);
        break;
      case 'call-failed':
        if (isRetry(event)) this.#retry(event.key.config);
        break;
      case 'breaker-opened':
        this.note(describeOpenBreaker(event.breaker));
        break;
      case 'breaker-waiting':
        this.note(`waiting for ${event.breakerKey} until ${new Date(event.untilMs).toISOString()}`);
        break;
      case 'stalled':
        this.note(
          `nothing moved for ${event.forMs / 1_000} s though ${event.cellCount} cells could: set going again. This is a bug in Thrice; nothing is lost, please report it`,
        );
        break;
      case 'cells-taken-over':
        this.note(
          `took over ${event.cells.length} cells of a process that died; what it was asking may be paid twice: ${event.cells.map(({ config, id }) => `${config}/${id}`).join(' ')}`,
        );
        break;
    }
  }

  #complete(
    name: string,
    result: Extract<WorkerEvent, { kind: 'cell-completed' }>['result'],
  ): void {
    const config = this.#configs.get(name);
    if (config === undefined) return;
    config[result.outcome] += 1;
    config.notAttempted -= 1;
    if (config.costUsd !== null) config.costUsd += result.costUsd ?? 0;
    if (result.score === 1) config.correct += 1;
  }

  #retry(name: string): void {
    const config = this.#configs.get(name);
    if (config !== undefined) config.retries += 1;
  }

  /** Says each thing once, to stay above the bars: a blocked lane is blocked for all of its cells. */
  note(text: string): void {
    if (this.#noted.has(text)) return;
    this.#noted.add(text);
    this.#block.note(plainText(text));
  }

  #doneCount(): number {
    return [...this.#configs.values()].reduce(
      (sum, { cells, notAttempted }) => sum + cells - notAttempted,
      0,
    );
  }

  #show(): void {
    this.#meter.add(this.#now(), this.#doneCount());
    this.#block.show(this.#terminal.isInteractive ? this.#bars() : this.#line());
  }

  #totals(): { readonly done: number; readonly cells: number; readonly text: string } {
    const all = [...this.#configs.values()];
    const cells = all.reduce((sum, config) => sum + config.cells, 0);
    const done = this.#doneCount();
    const perSecond = this.#meter.perSecond();
    const eta = perSecond === undefined || perSecond === 0 ? undefined : (cells - done) / perSecond;
    const retries = all.reduce((sum, config) => sum + config.retries, 0);
    const failed = all.reduce((sum, config) => sum + config.failed, 0);
    const text = [
      `${(perSecond ?? 0).toFixed(1)}/s`,
      `ETA ${describeDuration(done === cells ? 0 : eta)}`,
      this.#spend(all),
      `${retries} retries`,
      `${failed} failed`,
    ].join(', ');
    return { done, cells, text };
  }

  /** A spend is shown where a price is known; some unknown prices make it a lower bound. */
  #spend(configs: readonly ConfigStatus[]): string {
    const known = configs.flatMap(({ costUsd }) => (costUsd === null ? [] : [costUsd]));
    if (known.length === 0) return 'cost unknown';
    const sum = known.reduce((total, costUsd) => total + costUsd, 0);
    return `${known.length < configs.length ? '>= ' : ''}$${sum.toFixed(4)}`;
  }

  #line(): string {
    const { done, cells, text } = this.#totals();
    return `${done}/${cells} cells, ${text}`;
  }

  #bars(): string {
    const all = [...this.#configs.values()];
    const width = Math.max(...all.map(({ config }) => config.length));
    const barChars = this.#terminal.columns < NARROW_COLUMNS ? 10 : 20;
    const lines = all.map((config) => {
      const done = config.cells - config.notAttempted;
      const scoreCount = config.scored + config.unparsed;
      const right =
        scoreCount === 0 ? '–' : `${((config.correct / scoreCount) * 100).toFixed(1)} %`;
      const name = config.config.padEnd(width);
      const count = `${String(done).padStart(String(config.cells).length)}/${config.cells}`;
      const parts = [count, `right ${right}`, `${config.retries} retries`];
      if (config.failed > 0) parts.push(`${config.failed} failed`);
      return `${name} ${progressBar(done, config.cells, barChars)} ${parts.join('  ')}`;
    });
    return [...lines, this.#totals().text].join('\n');
  }
}

/** A cell that waits for its lane to open again is put off, not tried again. */
function isRetry({ error, waitMs }: Extract<WorkerEvent, { kind: 'call-failed' }>): boolean {
  return waitMs !== null && (error.class === 'transient' || error.class === 'rate-limited');
}

/** A progress display that starts from where the group stands. */
export async function createProgress({
  terminal,
  engine,
  header,
}: {
  readonly terminal: Terminal;
  readonly engine: { readonly ledger: Ledger; readonly clock: Clock };
  readonly header: GroupHeader;
}): Promise<Progress> {
  const recount = async () => {
    const configs = await countConfigs(header, engine);
    return configs.filter(({ cells }) => cells > 0);
  };
  const configs = await recount();
  return new Progress({ terminal, now: () => engine.clock.now(), configs, recount });
}
