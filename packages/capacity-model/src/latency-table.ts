/** Entries of a latency table. All are equally likely, so expected values can be computed exactly. */
export const LATENCY_COUNT = 16_384;
/** The table ends at this many standard deviations: 1 in 10^9 lies beyond. */
const RANGE_SIGMA = 6;
const STEPS_PER_SIGMA = 4_096;

/**
 * Quantiles of a lognormal distribution, one for each of {@link LATENCY_COUNT} equal shares, scaled
 * to have exactly the given mean.
 *
 * @param meanSeconds - Above 0.
 * @param spread - Standard deviation of the logarithm, at least 0; 0 is a constant.
 */
export function createLatencyTable(meanSeconds: number, spread: number): Float64Array {
  const table = normalQuantiles().map((z) => Math.exp(spread * z));
  const mean = table.reduce((sum, value) => sum + value, 0) / table.length;
  return table.map((value) => (value * meanSeconds) / mean);
}

/** The midpoint of each equal share of the normal distribution, by summing the density. */
function normalQuantiles(): Float64Array {
  const quantiles = new Float64Array(LATENCY_COUNT);
  const stepCount = 2 * RANGE_SIGMA * STEPS_PER_SIGMA;
  const densityAt = (step: number) => Math.exp(-(zOf(step) ** 2) / 2);
  let total = 0;
  for (let step = 0; step < stepCount; step += 1) total += densityAt(step);
  let index = 0;
  let below = 0;
  for (let step = 0; step < stepCount; step += 1) {
    below += densityAt(step) / total;
    while (index < LATENCY_COUNT && (index + 0.5) / LATENCY_COUNT <= below) {
      quantiles[index] = zOf(step);
      index += 1;
    }
  }
  return quantiles;
}

/** The midpoint of a step, in standard deviations. */
function zOf(step: number): number {
  return (step + 0.5) / STEPS_PER_SIGMA - RANGE_SIGMA;
}
