/** A p-value that stays known where no number is small enough for it. */
export interface PValue {
  /** 0..1; 0 where it is below the smallest number, 5e-324. */
  readonly p: number;
  /** Its decimal logarithm, at most 0 and finite. */
  readonly log10P: number;
}

/** Makes a p-value of its natural logarithm; of anything above 0, which is rounding, it makes 1. */
export function pValueOf(logarithm: number): PValue {
  return logarithm < 0
    ? { p: Math.exp(logarithm), log10P: logarithm / Math.LN10 }
    : { p: 1, log10P: 0 };
}
