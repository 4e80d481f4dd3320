import type { ReportedTokens } from './answer-body.ts';
import type { FaultKind } from './load-faults.ts';
import type { RateWindow } from './rate-windows.ts';

/** How often one question was asked, and how often it got a real answer. */
export interface QuestionCounts {
  readonly requests: number;
  /** Real answers; more than one means that the client paid twice. */
  readonly ok: number;
}

/** Counts of chat completion requests since the server started. */
export interface SimulatorStats {
  readonly requestCount: number;
  /** Real answers whose full body was sent. */
  readonly okCount: number;
  /** Injected faults by kind, without kinds that never occurred. */
  readonly faultCounts: Readonly<Partial<Record<FaultKind, number>>>;
  /** The maximum number of requests open at the same time. */
  readonly maxOpenCount: number;
  /** By {@link questionKey}. */
  readonly requestsByQuestion: ReadonlyMap<string, QuestionCounts>;
  readonly billed: BilledTokens;
  /** What the rate limit did since the first request, in windows of ten seconds; empty without one. */
  readonly rateWindows: readonly RateWindow[];
}

/**
 * What a vendor would bill: the responses with a successful status that reported the tokens of a completion, however
 * spoiled it was, and the tokens they reported. Nothing else is billed: no refusal, no error object, no body that
 * was cut off before it reported its tokens.
 */
export interface BilledTokens {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Returns the key a question is counted by: the cell key header, or else its arm and text. */
export function questionKey(input: {
  readonly cell?: string | undefined;
  readonly arm?: string | undefined;
  readonly question?: string | undefined;
}): string | undefined {
  if (input.cell !== undefined) return input.cell;
  return input.question === undefined ? undefined : `${input.arm ?? 'direct'}: ${input.question}`;
}

/** Collects the counts of {@link SimulatorStats}. */
export class RequestCounter {
  #requestCount = 0;
  #okCount = 0;
  #openCount = 0;
  #maxOpenCount = 0;
  readonly #faultCounts = new Map<FaultKind, number>();
  readonly #byQuestion = new Map<string, { requests: number; ok: number }>();
  readonly #billed = { calls: 0, inputTokens: 0, outputTokens: 0 };

  /** Counts a request as open. @returns The number of the request, starting at 1. */
  open(): number {
    this.#requestCount += 1;
    this.#openCount += 1;
    if (this.#openCount > this.#maxOpenCount) this.#maxOpenCount = this.#openCount;
    return this.#requestCount;
  }

  /** Counts a question. @returns How many times it was asked before. */
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

  bill({ inputTokens, outputTokens }: ReportedTokens): void {
    this.#billed.calls += 1;
    this.#billed.inputTokens += inputTokens;
    this.#billed.outputTokens += outputTokens;
  }

  /** Returns a copy that later requests do not change. */
  snapshot(rateWindows: readonly RateWindow[]): SimulatorStats {
    return {
      rateWindows,
      requestCount: this.#requestCount,
      okCount: this.#okCount,
      faultCounts: Object.fromEntries(this.#faultCounts),
      maxOpenCount: this.#maxOpenCount,
      requestsByQuestion: new Map(
        [...this.#byQuestion].map(([key, counts]) => [key, { ...counts }] as const),
      ),
      billed: { ...this.#billed },
    };
  }
}
