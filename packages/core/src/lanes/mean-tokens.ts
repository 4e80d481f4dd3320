import type { Usage } from '../domain/call.ts';
import type { PermitRequest } from '../ports/governor.ts';

/** How much the latest call counts in the means. */
const LATEST_WEIGHT = 0.1;

interface Means {
  /** Of what an input took, per token of its bound. */
  inputRatio: number;
  outputTokens: number;
}

/**
 * What the calls of each model took on average, in a process: a better guess than the bound of a call, which may be many times
 * what it takes.
 */
export class MeanTokens {
  readonly #means = new Map<string, Means>();

  /** The tokens that a call will probably take; undefined before one was answered. */
  estimate({ model, inputTokens }: PermitRequest): number | undefined {
    const means = this.#means.get(model);
    return means && inputTokens * means.inputRatio + means.outputTokens;
  }

  /**
   * Notes what a call took, if that is known.
   *
   * @param inputTokens - The bound of its input.
   */
  note({ model, inputTokens }: PermitRequest, usage: Usage): void {
    if (usage.inputTokens === null || usage.outputTokens === null || inputTokens === 0) return;
    const inputRatio = usage.inputTokens / inputTokens;
    const means = this.#means.get(model) ?? { inputRatio, outputTokens: usage.outputTokens };
    means.inputRatio += LATEST_WEIGHT * (inputRatio - means.inputRatio);
    means.outputTokens += LATEST_WEIGHT * (usage.outputTokens - means.outputTokens);
    this.#means.set(model, means);
  }
}
