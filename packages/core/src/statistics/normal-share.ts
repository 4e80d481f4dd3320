/**
 * Computes the share of the standard normal distribution that lies below a value.
 *
 * @param z - Between -7 and 7: further out, the digits of a small share are lost.
 * @see Marsaglia (2004), Evaluating the Normal Distribution, doi:10.18637/jss.v011.i04
 */
export function normalShare(z: number): number {
  let [sum, term] = [z, z];
  for (let odd = 3; Math.abs(term) > Number.EPSILON * Math.abs(sum); odd += 2) {
    term *= z ** 2 / odd;
    sum += term;
  }
  return 0.5 + (sum * Math.exp(-(z ** 2) / 2)) / Math.sqrt(2 * Math.PI);
}
