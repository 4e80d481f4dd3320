import { normalShare } from './normal-share.ts';
import { tQuantile } from './student-t.ts';

/**
 * The share of resamples that a 95 % bootstrap interval leaves out on each side: less than 2.5 %, because a resample spreads
 * less than what was drawn, and because few clusters leave the spread uncertain. The plain share covers too little.
 *
 * @param count - What is drawn, integer >= 2.
 * @see Hesterberg (2015), What Teachers Should Know About the Bootstrap, doi:10.1080/00031305.2015.1089789, section 4.1.4
 *   (expanded percentile interval)
 */
export function expandedTail(count: number): number {
  return normalShare(-Math.sqrt(count / (count - 1)) * tQuantile(0.975, count - 1));
}
