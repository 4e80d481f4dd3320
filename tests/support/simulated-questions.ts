import type { Cluster } from '../../packages/core/src/statistics/clustered-standard-error.ts';
import type { Pair } from '../../packages/core/src/statistics/paired-difference.ts';

type Random = () => number;

/** A population of questions under two configs. */
export interface Population {
  readonly name: string;
  /** Of the scores under each. */
  readonly means: readonly [number, number];
  /** One question, drawn at random. */
  readonly draw: (random: Random) => Pair;
}

/**
 * Questions that are right or wrong.
 *
 * @param means - The chances of the two configs to be right, over all questions.
 * @param spread - Between the easiest and the hardest question, which are so for both configs; the chances stay in 0..1.
 * @param repeats - Whether a replicate says what the first one said, instead of being drawn by itself.
 */
export function graded(
  name: string,
  means: readonly [number, number],
  spread: number,
  replicates: number,
  repeats = false,
): Population {
  const clusterOf = (chance: number, random: Random): Cluster => {
    if (repeats) return { sum: random() < chance ? replicates : 0, count: replicates };
    let sum = 0;
    for (let replicate = 0; replicate < replicates; replicate += 1) {
      if (random() < chance) sum += 1;
    }
    return { sum, count: replicates };
  };
  return {
    name,
    means,
    draw: (random) => {
      const ease = spread * (random() - 0.5);
      return {
        first: clusterOf(means[0] + ease, random),
        second: clusterOf(means[1] + ease, random),
      };
    },
  };
}

/** Questions whose score is a sum of five points in 0..1, each of them as hard; one replicate. */
export function rubric(name: string, means: readonly [number, number]): Population {
  const { draw } = graded(name, means, 0.2, 5);
  const scoreOf = ({ sum }: Cluster) => ({ sum: sum / 5, count: 1 });
  return {
    name,
    means,
    draw: (random) => {
      const { first, second } = draw(random);
      return { first: scoreOf(first), second: scoreOf(second) };
    },
  };
}

/** Questions that take time: log-normal, with a long tail; the second config takes a tenth longer. */
export function timed(name: string): Population {
  const typical = Math.exp(0.5 ** 2 / 2);
  return {
    name,
    means: [typical, 1.1 * typical],
    draw: (random) => ({
      first: { sum: Math.exp(0.5 * normal(random)), count: 1 },
      second: { sum: 1.1 * Math.exp(0.5 * normal(random)), count: 1 },
    }),
  };
}

/** How many of so many samples of questions pass a test, as a ratio. */
export function shareOf(
  samples: number,
  size: number,
  population: Population,
  random: Random,
  passes: (pairs: readonly Pair[]) => boolean,
): number {
  let passed = 0;
  for (let sample = 0; sample < samples; sample += 1) {
    if (passes(Array.from({ length: size }, () => population.draw(random)))) passed += 1;
  }
  return passed / samples;
}

/** Whether an interval contains a value; an unknown one does not. */
export function covers(interval: readonly [number, number] | undefined, value: number): boolean {
  return interval !== undefined && interval[0] <= value && value <= interval[1];
}

/** Box and Muller (1958), doi:10.1214/aoms/1177706645. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
