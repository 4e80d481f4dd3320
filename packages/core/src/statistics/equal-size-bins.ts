import type { StatedAnswers } from './forecasts.ts';

/** The answers with one confidence that a bin takes. */
interface BinPart {
  readonly answers: StatedAnswers;
  /** How many of them, > 0; a fraction where the size of a bin is one. */
  readonly taken: number;
}

/**
 * Cuts answers in the order of their confidence into bins of equal size.
 *
 * @param answers - By confidence, ascending.
 * @param size - Answers of a bin, > 0.
 * @param binCount - What is left after so many bins is left out.
 */
export function cutIntoBins(
  answers: readonly StatedAnswers[],
  size: number,
  binCount: number,
): readonly (readonly BinPart[])[] {
  const bins = Array.from({ length: binCount }, (): BinPart[] => []);
  let start = 0;
  for (const each of answers) {
    const end = start + each.count;
    for (let bin = Math.floor(start / size); bin < binCount && bin * size < end; bin += 1) {
      const taken = Math.min(end, (bin + 1) * size) - Math.max(start, bin * size);
      if (taken > 0) bins[bin]?.push({ answers: each, taken });
    }
    start = end;
  }
  return bins;
}
