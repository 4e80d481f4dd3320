import { isServedModel } from '../cells/is-served-model.ts';
import { modelRefOf } from '../domain/breaker.ts';
import { isAnswer } from '../domain/call.ts';
import type { CellRow } from '../domain/cell.ts';
import type { ServedModelSummary } from './summary.ts';

/** A server may name another model with each answer: only the most frequent names are published. */
const MAX_MODELS = 20;

/** Counts which models gave the answers of a config. */
export class ServedModelTally {
  readonly #models = new Map<string, Map<string, ServedModelSummary>>();

  add({ calls }: CellRow): void {
    for (const call of calls) {
      if (!isAnswer(call) || call.servedModel === null) continue;
      const { endpoint, servedModel } = call;
      const model = modelRefOf(call);
      const served = this.#models.get(model) ?? new Map<string, ServedModelSummary>();
      this.#models.set(model, served);
      const known = served.get(servedModel);
      const isOther =
        known?.isOther ?? !isServedModel({ requested: call.model, served: servedModel, endpoint });
      served.set(servedModel, { model, servedModel, isOther, calls: (known?.calls ?? 0) + 1 });
    }
  }

  /** The models by number of calls, most first. */
  summarize(): ServedModelSummary[] {
    return [...this.#models.values()]
      .flatMap((served) => [...served.values()])
      .toSorted((left, right) => right.calls - left.calls || compareNames(left, right))
      .slice(0, MAX_MODELS);
  }
}

function compareNames(left: ServedModelSummary, right: ServedModelSummary): number {
  const [first, second] = [left, right].map(({ model, servedModel }) => `${model} ${servedModel}`);
  return (first ?? '') < (second ?? '') ? -1 : 1;
}
