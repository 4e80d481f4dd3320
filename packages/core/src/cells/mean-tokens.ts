import type { Usage } from '../domain/call.ts';
import type { PermitRequest } from '../ports/governor.ts';

/** The tokens of a call of which nothing is known. */
const UNKNOWN_TOKENS = 1_000;
/** How much the latest call counts in the mean. */
const LATEST_WEIGHT = 0.1;

/**
 * What the calls of a model took on average, in a process: a better guess than the bound of a call, which may be many times
 * what it takes.
 */
export class MeanTokens {
  readonly #means = new Map<string, number>();

  /** The tokens that a call will probably take, a whole number. */
  estimate({ lane, model, estimatedTokens }: PermitRequest): number {
    const mean = this.#means.get(`${lane}/${model}`) ?? estimatedTokens ?? UNKNOWN_TOKENS;
    return Math.round(mean);
  }

  /** Notes what a call took. Returns it; undefined if that is unknown. */
  note(
    { lane, model }: Pick<PermitRequest, 'lane' | 'model'>,
    { inputTokens, outputTokens }: Usage,
  ): number | undefined {
    if (inputTokens === null && outputTokens === null) return undefined;
    const tokens = (inputTokens ?? 0) + (outputTokens ?? 0);
    const key = `${lane}/${model}`;
    const mean = this.#means.get(key) ?? tokens;
    this.#means.set(key, mean + LATEST_WEIGHT * (tokens - mean));
    return tokens;
  }
}
