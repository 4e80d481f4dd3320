import { isServedModel } from '../calls/is-served-model.ts';
import { modelRefOf } from '../domain/breaker.ts';
import { isOfAnswer } from '../domain/call.ts';
import type { CellRow } from '../domain/cell.ts';
import type { ServedModelSummary } from './summary.ts';

/** A server may name another model with each answer: only the most frequent names are published. */
const MAX_MODELS = 20;

/** Counts which models gave the answers of a config. */
export class ServedModelTally {
  readonly #models = new Map<string, Map<string, ServedModelSummary>>();

  /** @param from - The states of other tallies, to add. @default no rows added */
  constructor(...from: readonly (readonly ServedModelSummary[])[]) {
    for (const each of from.flat()) this.#count(each, each.calls);
  }

  add({ calls }: CellRow): void {
    for (const call of calls) {
      if (!isOfAnswer(call) || call.servedModel === null) continue;
      const { endpoint, servedModel } = call;
      const model = modelRefOf(call);
      const isOther =
        this.#models.get(model)?.get(servedModel)?.isOther ??
        !isServedModel({ requested: call.model, served: servedModel, endpoint });
      this.#count({ model, servedModel, isOther }, 1);
    }
  }

  /** Every name and its calls. */
  state(): ServedModelSummary[] {
    return [...this.#models.values()].flatMap((served) => [...served.values()]);
  }

  /** The models by number of calls, most first. */
  summarize(): ServedModelSummary[] {
    return this.state()
      .toSorted((left, right) => right.calls - left.calls || compareNames(left, right))
      .slice(0, MAX_MODELS);
  }

  #count({ model, servedModel, isOther }: Omit<ServedModelSummary, 'calls'>, calls: number): void {
    const served = this.#models.get(model) ?? new Map<string, ServedModelSummary>();
    this.#models.set(model, served);
    const known = served.get(servedModel);
    served.set(servedModel, {
      model,
      servedModel,
      isOther: known?.isOther ?? isOther,
      calls: (known?.calls ?? 0) + calls,
    });
  }
}

function compareNames(left: ServedModelSummary, right: ServedModelSummary): number {
  const [first, second] = [left, right].map(({ model, servedModel }) => `${model} ${servedModel}`);
  return (first ?? '') < (second ?? '') ? -1 : 1;
}
