import type { FaultKind } from './load-faults.ts';

/** How often one question was asked, and how often really answered. */
export interface QuestionCounts {
  readonly requests: number;
  /** More than one means that an answer was asked for twice. */
  readonly ok: number;
}

/** Counts since the start, chat completion requests only. */
export interface SimulatorStats {
  readonly requestCount: number;
  /** Real answers whose full body was sent. */
  readonly okCount: number;
  /** Injected faults by kind; kinds that never occurred are absent. */
  readonly faultCounts: Readonly<Partial<Record<FaultKind, number>>>;
  /** Most requests open at the same time. */
  readonly maxOpenCount: number;
  /** By {@link questionKey}. */
  readonly requestsByQuestion: ReadonlyMap<string, QuestionCounts>;
}

/** What a question is counted by: the cell key header, else arm and text. */
export function questionKey(input: {
  readonly cell?: string | undefined;
  readonly arm?: string | undefined;
  readonly question?: string | undefined;
}): string | undefined {
  if (input.cell !== undefined) return input.cell;
  return input.question === undefined ? undefined : `${input.arm ?? 'direct'}: ${input.question}`;
}

/** The live counts behind {@link SimulatorStats}. */
export class RequestCounter {
  #requestCount = 0;
  #okCount = 0;
  #openCount = 0;
  #maxOpenCount = 0;
  readonly #faultCounts = new Map<FaultKind, number>();
  readonly #byQuestion = new Map<string, { requests: number; ok: number }>();

  /** @returns The number of the request, from 1. */
  open(): number {
    this.#requestCount += 1;
    this.#openCount += 1;
    if (this.#openCount > this.#maxOpenCount) this.#maxOpenCount = this.#openCount;
    return this.#requestCount;
  }

  /** @returns How many times the question was asked before. */
  ask(key: string): number {
    const counts = this.#byQuestion.get(key);
    if (counts === undefined) {
      this.#byQuestion.set(key, { requests: 1, ok: 0 });
      return 0;
    }
    counts.requests += 1;
    return counts.requests - 1;
  }

  injected(kind: FaultKind): void {
    this.#faultCounts.set(kind, (this.#faultCounts.get(kind) ?? 0) + 1);
  }

  close(key: string | undefined, isOk: boolean): void {
    this.#openCount -= 1;
    if (!isOk) return;
    this.#okCount += 1;
    const counts = key === undefined ? undefined : this.#byQuestion.get(key);
    if (counts !== undefined) counts.ok += 1;
  }

  /** A copy that later requests leave alone. */
  snapshot(): SimulatorStats {
    return {
      requestCount: this.#requestCount,
      okCount: this.#okCount,
      faultCounts: Object.fromEntries(this.#faultCounts),
      maxOpenCount: this.#maxOpenCount,
      requestsByQuestion: new Map(
        [...this.#byQuestion].map(([key, counts]) => [key, { ...counts }] as const),
      ),
    };
  }
}
