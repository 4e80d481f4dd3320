import { logGamma } from './log-gamma.ts';

/**
 * Computes the natural logarithm of the probability that Student's t is further from 0 than a value, on either side.
 *
 * @param t - Either sign, at most 1e150.
 * @param degrees - Degrees of freedom, > 0.
 * @returns At most 0, and finite.
 * @see Abramowitz, Stegun (1964), Handbook of Mathematical Functions, formulas 26.7.1, 26.5.8 (the continued fraction) and
 *   26.5.2 (the symmetry)
 */
export function logTTails(t: number, degrees: number): number {
  const ratio = t ** 2 / degrees;
  if (ratio === 0) return 0;
  const half = degrees / 2;
  const logBeta = logGamma(half) + logGamma(0.5) - logGamma(half + 0.5);
  // x^a (1 - x)^b / B(a, b) for x = 1 / (1 + ratio), a = half, b = 1/2.
  const logFront = -half * Math.log1p(ratio) - 0.5 * Math.log1p(1 / ratio) - logBeta;
  // The fraction converges fast on this side of the mean of the beta distribution, and by symmetry on the other.
  if (1 / (1 + ratio) < (half + 1) / (half + 2.5)) {
    return logFront + Math.log(betaFraction(half, 0.5, 1 / (1 + ratio)) / half);
  }
  const inside = Math.exp(logFront) * betaFraction(0.5, half, ratio / (1 + ratio)) * 2;
  return Math.log1p(-inside);
}

/** Computes the natural logarithm of the probability that Student's t is above a value. @see {@link logTTails} */
export function logTAbove(t: number, degrees: number): number {
  const tails = logTTails(t, degrees);
  return t > 0 ? tails - Math.LN2 : Math.log1p(-Math.exp(tails) / 2);
}

/**
 * Computes a quantile of Student's t distribution.
 *
 * @param ratio - The share of the distribution below it, 0.5 < ratio < 1.
 * @param degrees - Degrees of freedom, > 0.
 * @see {@link logTTails}, solved by Newton's method: by the logarithm of t it is concave, so that the method converges
 */
export function tQuantile(ratio: number, degrees: number): number {
  const target = Math.log(2 * (1 - ratio));
  const logDensity =
    Math.log(2) +
    logGamma((degrees + 1) / 2) -
    logGamma(degrees / 2) -
    0.5 * Math.log(degrees * Math.PI);
  let t = 1;
  for (let step = 0; step < 100; step += 1) {
    const tails = logTTails(t, degrees);
    const density = logDensity - ((degrees + 1) / 2) * Math.log1p(t ** 2 / degrees);
    const change = (tails - target) / (t * Math.exp(density - tails));
    t *= Math.exp(change);
    if (Math.abs(change) < 1e-14) break;
  }
  return t;
}

/** The continued fraction of the incomplete beta function, by Lentz's method, doi:10.1364/AO.15.000668. */
function betaFraction(a: number, b: number, x: number): number {
  let [value, front, back] = [1, 1, 0];
  for (let index = 1; index < 100_000; index += 1) {
    const m = Math.floor(index / 2);
    const term =
      index % 2 === 0
        ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
        : (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    back = 1 / (1 + term * back);
    front = 1 + term / front;
    value *= back * front;
    if (Math.abs(back * front - 1) < 1e-15) break;
  }
  return 1 / value;
}
