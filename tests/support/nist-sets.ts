/** A data set with certified statistics. */
interface CertifiedSet {
  readonly name: string;
  readonly values: readonly number[];
  readonly certifiedMean: number;
  readonly certifiedVariance: number;
  /** Decimals to which double precision can reproduce the certified values. */
  readonly digits: number;
}

/**
 * NIST StRD, univariate summary statistics.
 *
 * @see https://www.itl.nist.gov/div898/strd/univ/homepage.html
 */
export const nistSets: readonly CertifiedSet[] = [
  {
    name: 'NumAcc1',
    values: [10_000_001, 10_000_003, 10_000_002],
    certifiedMean: 10_000_002,
    certifiedVariance: 1,
    digits: 12,
  },
  {
    name: 'NumAcc2',
    values: alternating(1.2, 0.1),
    certifiedMean: 1.2,
    certifiedVariance: 0.01,
    digits: 12,
  },
  {
    name: 'NumAcc3',
    values: alternating(1_000_000.2, 0.1),
    certifiedMean: 1_000_000.2,
    certifiedVariance: 0.01,
    digits: 8,
  },
  {
    name: 'NumAcc4',
    values: alternating(10_000_000.2, 0.1),
    certifiedMean: 10_000_000.2,
    certifiedVariance: 0.01,
    digits: 6,
  },
];

/** The center once, then 500 times just below and just above it. */
function alternating(center: number, by: number): readonly number[] {
  return [
    center,
    ...Array.from({ length: 1000 }, (_, index) => center + (index % 2 === 0 ? -by : by)),
  ];
}
