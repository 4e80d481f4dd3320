import * as z from 'zod';
import { laneOf, modelRefOf } from '../domain/breaker.ts';
import { isAnswer } from '../domain/call.ts';
import type { CellRow } from '../domain/cell.ts';
import type { JudgeSummary } from './summary.ts';

/** What a {@link JudgeTally} has counted so far. */
export const judgeTallySchema = z.strictObject({
  /** Verdicts by judge, as a spec writes it. */
  verdicts: z.array(z.tuple([z.string(), z.int()])),
  /** The models that answer. */
  answering: z.array(z.string()),
});
/** What a {@link JudgeTally} has counted so far. */
export type JudgeTallyState = z.infer<typeof judgeTallySchema>;

/** Counts whose verdicts the grades of a config come from, and whether these are its own models. */
export class JudgeTally {
  readonly #verdicts = new Map<string, number>();
  readonly #answering = new Set<string>();

  /** @param from - The states of other tallies, to continue with. @default none */
  constructor(...from: readonly JudgeTallyState[]) {
    for (const { verdicts, answering } of from) {
      for (const [judge, count] of verdicts) this.#count(judge, count);
      for (const model of answering) this.#answering.add(model);
    }
  }

  add({ calls, grading }: Pick<CellRow, 'calls' | 'grading'>): void {
    if (grading.judges === null) return;
    for (const call of calls) {
      if (!isAnswer(call)) continue;
      if (call.purpose === 'answering') this.#answering.add(modelRefOf(call));
      else if (call.purpose === 'grading' && call.grading === grading.judges)
        this.#count(modelRefOf(call), 1);
    }
  }

  state(): JudgeTallyState {
    return { verdicts: [...this.#verdicts], answering: [...this.#answering] };
  }

  /** The judges in the order in which they were asked first; undefined where nobody judges. */
  summarize(): JudgeSummary[] | undefined {
    if (this.#verdicts.size === 0) return undefined;
    const lanes = new Set([...this.#answering].map(laneOf));
    return [...this.#verdicts].map(([model, verdicts]) => {
      const isOwnLane = lanes.has(laneOf(model)) ? 'lane' : null;
      return { model, verdicts, isOwn: this.#answering.has(model) ? 'model' : isOwnLane };
    });
  }

  #count(judge: string, count: number): void {
    this.#verdicts.set(judge, (this.#verdicts.get(judge) ?? 0) + count);
  }
}
