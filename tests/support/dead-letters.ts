import type { CellEntry, CellTask, DeadLetterEntry, DeadLetterScan, Watchlist } from '@thrice/core';
import { aCellTask } from './builders.ts';

type LetterEntry = Extract<DeadLetterEntry, { kind: 'letter' }>;
type StrayTaskEntry = Extract<DeadLetterEntry, { kind: 'task' }>;
type UnreadableEntry = Extract<DeadLetterEntry, { kind: 'unreadable' }>;

const sentAt = '2026-01-02T03:04:05.000Z';

/** The letter of a cell that timed out; its message is named after cell and generation. */
export function aLetterEntry(
  task: Partial<CellTask> = {},
  parts: Partial<LetterEntry> = {},
): LetterEntry {
  const whole = aCellTask(task);
  return {
    kind: 'letter',
    messageId: `letter-${whole.id}-g${whole.generation}`,
    sentAt,
    lane: 'lab',
    task: whole,
    error: { class: 'transient', code: 'model-timeout', message: 'no answer' },
    ...parts,
  };
}

/** A task that its lane's queue gave up. */
export function aStrayTask(
  task: Partial<CellTask> = {},
  parts: Partial<StrayTaskEntry> = {},
): StrayTaskEntry {
  const whole = aCellTask(task);
  return {
    kind: 'task',
    messageId: `task-${whole.id}-g${whole.generation}`,
    sentAt,
    lane: 'lab',
    task: whole,
    ...parts,
  };
}

/** A message that nobody can read. */
export function anUnreadableEntry(parts: Partial<UnreadableEntry> = {}): UnreadableEntry {
  const problem = 'expected JSON, received 5 characters of something else';
  return { kind: 'unreadable', messageId: 'unreadable', sentAt, problem, body: 'hello', ...parts };
}

/** Dead letters in memory, that scans look through one after another. */
export class FakeDeadLetters {
  /** What lies there. */
  entries: readonly DeadLetterEntry[];
  readonly #pageSize: number;

  constructor(entries: readonly DeadLetterEntry[], pageSize = 10) {
    this.entries = entries;
    this.#pageSize = pageSize;
  }

  /** Ids of the messages that lie there. */
  get messageIds(): readonly string[] {
    return this.entries.map(({ messageId }) => messageId);
  }

  /** Begins a scan. */
  open(): FakeDeadLetterScan {
    return new FakeDeadLetterScan(this, this.#pageSize);
  }
}

/** A look through letters in memory; each page holds what lies there when its turn comes. */
export class FakeDeadLetterScan implements DeadLetterScan {
  unseenCount = 0;
  isDisposed = false;
  /** Runs before each page. */
  onPage: () => void = () => undefined;
  readonly #letters: FakeDeadLetters;
  readonly #pageSize: number;

  constructor(letters: FakeDeadLetters, pageSize: number) {
    this.#letters = letters;
    this.#pageSize = pageSize;
  }

  async *pages(stop: AbortSignal): AsyncIterable<readonly DeadLetterEntry[]> {
    const seen = new Set<DeadLetterEntry>();
    for (;;) {
      this.onPage();
      if (stop.aborted) return;
      const page = this.#letters.entries.filter((entry) => !seen.has(entry));
      if (page.length === 0) return;
      page.splice(this.#pageSize);
      for (const entry of page) seen.add(entry);
      yield page;
    }
  }

  async remove(removed: readonly DeadLetterEntry[]): Promise<void> {
    this.#letters.entries = this.#letters.entries.filter((entry) => !removed.includes(entry));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
}

/** Notes which groups are watched, each time they are. */
export class WatchLog implements Pick<Watchlist, 'watch'> {
  readonly watched: string[] = [];

  async watch(group: string): Promise<void> {
    this.watched.push(group);
  }
}

/** The body of a letter as a worker sends it. */
export function letterBody(entry: CellEntry): string {
  if (entry.kind === 'task') return JSON.stringify(entry.task);
  const { lane, task, error } = entry;
  return JSON.stringify({ v: 1, lane, task, error });
}
