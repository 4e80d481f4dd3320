import * as z from 'zod';
import type { CellRow } from '../domain/cell.ts';
import { countedScoreOf } from '../domain/ruling.ts';
import type { Cluster } from '../statistics/clustered-standard-error.ts';

/**
 * Beyond so many questions, several share a cluster: groups of independent questions are independent too. The standard
 * error is then known to about 1 %, and a group of any size needs the same memory.
 *
 * @see Wolter (2007), Introduction to Variance Estimation, chapter 2 (random groups)
 */
const MAX_CLUSTERS = 4_096;

/** What {@link ScoreClusters} have added so far, by cluster. */
export const scoreClustersSchema = z.strictObject({
  sums: z.array(z.number()),
  counts: z.array(z.int()),
});
/** What {@link ScoreClusters} have added so far, by cluster. */
export type ScoreClustersState = z.infer<typeof scoreClustersSchema>;

/** The scores of a config, a cluster for each question over all runs. */
export class ScoreClusters {
  readonly #sums: number[];
  readonly #counts: number[];

  /** @param from - The state of others, to continue with. @default no rows added */
  constructor(from: ScoreClustersState = { sums: [], counts: [] }) {
    this.#sums = [...from.sums];
    this.#counts = [...from.counts];
  }

  /** @param index - Which of the config's questions the row is of, from 0; the same in each run. */
  add(index: number, row: CellRow): void {
    const score = countedScoreOf(row);
    const cluster = index % MAX_CLUSTERS;
    this.#sums[cluster] = (this.#sums[cluster] ?? 0) + (score ?? 0);
    this.#counts[cluster] = (this.#counts[cluster] ?? 0) + (score === null ? 0 : 1);
  }

  state(): ScoreClustersState {
    return { sums: [...this.#sums], counts: [...this.#counts] };
  }

  clusters(): readonly Cluster[] {
    return this.#sums.map((sum, index) => ({ sum, count: this.#counts[index] ?? 0 }));
  }
}
