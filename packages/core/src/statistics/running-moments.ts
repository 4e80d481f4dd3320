/** How many values there were, their sum, and the sum of their squared distances from their mean. */
export interface RunningMoments {
  count: number;
  sum: number;
  squares: number;
}

/** The moments of no values. */
export function noMoments(): RunningMoments {
  return { count: 0, sum: 0, squares: 0 };
}

/**
 * Adds a value to moments, without keeping it. Unlike a sum of squares, this loses no digits where the values are far from 0
 * and close together.
 *
 * @see Welford (1962), doi:10.1080/00401706.1962.10490022
 */
export function addValue(moments: RunningMoments, value: number): void {
  const before = moments.count === 0 ? value : moments.sum / moments.count;
  moments.count += 1;
  moments.sum += value;
  moments.squares += (value - before) * (value - moments.sum / moments.count);
}

/**
 * The moments of the values of both.
 *
 * @see Chan, Golub and LeVeque (1979), Stanford STAN-CS-79-773, eq. 2.1
 */
export function joinMoments(left: RunningMoments, right: RunningMoments): RunningMoments {
  const count = left.count + right.count;
  if (left.count === 0 || right.count === 0) {
    return { count, sum: left.sum + right.sum, squares: left.squares + right.squares };
  }
  const distance = right.sum / right.count - left.sum / left.count;
  const between = (distance * distance * left.count * right.count) / count;
  return { count, sum: left.sum + right.sum, squares: left.squares + right.squares + between };
}
