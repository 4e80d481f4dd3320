import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { clusteredInterval } from '../../packages/core/src/statistics/clustered-interval.ts';
import {
  type Cluster,
  clusteredStandardError,
} from '../../packages/core/src/statistics/clustered-standard-error.ts';
import { cohenKappa } from '../../packages/core/src/statistics/cohen-kappa.ts';
import { fleissKappa } from '../../packages/core/src/statistics/fleiss-kappa.ts';
import { holm } from '../../packages/core/src/statistics/holm.ts';
import { logGamma } from '../../packages/core/src/statistics/log-gamma.ts';
import { mcnemarMidP, mcnemarTest } from '../../packages/core/src/statistics/mcnemar-test.ts';
import {
  minimumDetectableEffect,
  POWER,
} from '../../packages/core/src/statistics/minimum-detectable-effect.ts';
import { normalShare } from '../../packages/core/src/statistics/normal-share.ts';
import { pairedBootstrap } from '../../packages/core/src/statistics/paired-bootstrap.ts';
import { pairedDifference } from '../../packages/core/src/statistics/paired-difference.ts';
import { pairedPermutation } from '../../packages/core/src/statistics/paired-permutation.ts';
import { passAtK } from '../../packages/core/src/statistics/pass-at-k.ts';
import { passHatK } from '../../packages/core/src/statistics/pass-hat-k.ts';
import { addValue, noMoments } from '../../packages/core/src/statistics/running-moments.ts';
import { seededRandom } from '../../packages/core/src/statistics/seeded-random.ts';
import { signTest } from '../../packages/core/src/statistics/sign-test.ts';
import { logTTails, tQuantile } from '../../packages/core/src/statistics/student-t.ts';
import { varianceSplit } from '../../packages/core/src/statistics/variance-split.ts';
import { wilsonInterval } from '../../packages/core/src/statistics/wilson-interval.ts';
import { askPython, hasPython, type Judgments, listDiffering } from '../support/ask-python.ts';
import { isRequired } from '../support/shared-data.ts';

/** @see https://pypi.org/project/scipy/, https://pypi.org/project/statsmodels/ */
const PACKAGES = ['numpy==2.4.6', 'scipy==1.17.1', 'statsmodels==0.15.0'] as const;
const COUNT = 1_000;
/** Relative; of values below 1, absolute. Logarithms of p-values thus give their relative difference. */
const CLOSE = 1e-9;

type Values = readonly number[];
type Unknown = number | undefined;

/** What one estimator is given, what it says, and how close another program must come. */
interface Judged {
  readonly inputs: readonly unknown[];
  readonly own: readonly (readonly Unknown[])[];
  readonly tolerance: number;
}

const random = seededRandom('judged by scipy');
const judged = new Map<string, Judged>();

function judge<Input>(
  name: string,
  draw: () => Input,
  estimate: (input: Input) => readonly Unknown[],
  { count = COUNT, tolerance = CLOSE } = {},
): void {
  const inputs = Array.from({ length: count }, draw);
  judged.set(name, { inputs, own: inputs.map(estimate), tolerance });
}

judge(
  'exact test',
  () => {
    // Those whose p-value is a number for scipy.
    const first = integer(4_000);
    return random() < 0.5
      ? ([first, first + 1 + integer(300)] as const)
      : ([first + 1 + integer(300), first] as const);
  },
  ([first, second]) => {
    const exact = mcnemarTest(first, second).log10P;
    return [exact, exact, mcnemarMidP(first, second).log10P];
  },
);
judge(
  'tiny exact test',
  () => [integer(20), 2_000 + integer(3_000)] as const,
  (counts) => [mcnemarTest(...counts).log10P],
);
judge(
  'paired difference',
  () =>
    many(
      2 + integer(40),
      () => [many(1 + integer(4), random), many(1 + integer(4), random)] as const,
    ),
  (pairs) => {
    const clusters = pairs.map(([first, second]) => ({
      first: clusterOf(first),
      second: clusterOf(second),
    }));
    const result = pairedDifference(clusters, 1e6);
    return [result?.difference, ...(result?.interval ?? []), result?.pValue?.log10P];
  },
);
judge(
  'sign test',
  () => [1 + integer(30), integer(30)] as const,
  ([above, below]) => [signTest([...many(above, () => 2), ...many(below, () => -0.5)]).log10P],
);
judge(
  'permutation',
  () => many(2 + integer(8), () => integer(7) - 3),
  (differences) => [pairedPermutation(differences, random)],
);
judge(
  'bootstrap',
  () => many(10 + integer(15), () => random() ** 2),
  (differences) => {
    const center = meanOf(differences);
    const squares = differences.reduce((sum, each) => sum + (each - center) ** 2, 0);
    const error = Math.sqrt(squares / (differences.length - 1) / differences.length);
    return (pairedBootstrap(differences, random) ?? []).map((bound) => (bound - center) / error);
  },
  // Both draw 10,000 resamples: each bound varies by about 0.03 standard errors.
  { tolerance: 0.15 },
);
judge(
  'holm',
  () => many(1 + integer(20), () => random() ** 3),
  (values) => holm(values.map((p) => ({ p, log10P: Math.log10(p) }))).map(({ p }) => p),
);
judge(
  't',
  () => [20 * random(), 1 + integer(10_000), 0.51 + 0.489 * random()] as const,
  ([t, degrees, ratio]) => [logTTails(t, degrees), tQuantile(ratio, degrees)],
);
judge(
  'normal share',
  () => 8 * random() - 4,
  (value) => [normalShare(value)],
);
judge(
  'log gamma',
  () => 1e-3 + 10_000 * random() ** 3,
  (x) => [logGamma(x)],
);
judge(
  'detectable effect',
  () => [random(), 2 + integer(10_000)] as const,
  ([deviation, count]) => [minimumDetectableEffect(deviation, count)],
);
judge(
  'power',
  // With fewer questions, the effect is more than a standard deviation.
  () => {
    const count = 10 + integer(3_000);
    return [minimumDetectableEffect(1, count), count] as const;
  },
  () => [POWER],
  // The formula has no noncentral t.
  { tolerance: 0.001 },
);
judge(
  'pass',
  () => {
    const count = 1 + integer(30);
    return [integer(count + 1), count, 1 + integer(count)] as const;
  },
  ([sum, count, k]) => [passAtK([{ sum, count }], k)?.value, passHatK([{ sum, count }], k)?.value],
);
judge(
  'wilson',
  () => {
    const trials = 1 + integer(5_000);
    return [integer(trials + 1), trials] as const;
  },
  ([hits, trials]) => wilsonInterval(hits, trials) ?? [],
);
judge(
  'clustered',
  () => many(2 + integer(30), () => many(1 + integer(4), random)),
  (scores) => {
    const clusters = scores.map(clusterOf);
    return [clusteredStandardError(clusters), ...(clusteredInterval(clusters) ?? [])];
  },
);
judge(
  'variance split',
  () => many(2 + integer(20), () => many(2 + integer(4), random)),
  (scores) => {
    const moments = scores.map((values) => {
      const each = noMoments();
      for (const value of values) addValue(each, value);
      return each;
    });
    const { question, replicate } = varianceSplit(moments);
    return [question, replicate];
  },
);
judge(
  'cohen',
  () => [many(2, () => 1 + integer(50)), many(2, () => 1 + integer(50))] as const,
  ([[bothYes = 0, onlyFirst = 0], [onlySecond = 0, bothNo = 0]]) => [
    cohenKappa({ bothYes, onlyFirst, onlySecond, bothNo }),
  ],
);
judge(
  'fleiss',
  () => {
    const raters = 2 + integer(5);
    const items = many(1 + integer(20), () => integer(raters + 1)).map((yes) => [
      yes,
      raters - yes,
    ]);
    // Chance must not agree on every item.
    return [...items, [1, raters - 1]];
  },
  (items) => [fleissKappa(items)],
);

describe.skipIf(!hasPython && !isRequired)('scipy and statsmodels', () => {
  let judgments: Judgments = {};
  beforeAll(async () => {
    const inputs = Object.fromEntries([...judged].map(([name, each]) => [name, each.inputs]));
    judgments = await askPython(PACKAGES, join(import.meta.dirname, 'judged-by-scipy.py'), inputs);
  }, 600_000);

  it.each([...judged])('agree on 1,000 inputs: %s', (name, { own, tolerance }) => {
    expect(own).toHaveLength(COUNT);
    expect(listDiffering(own, judgments[name], tolerance)).toEqual([]);
  });
});

function integer(below: number): number {
  return Math.floor(random() * below);
}

function many<Item>(count: number, draw: () => Item): readonly Item[] {
  return Array.from({ length: count }, draw);
}

function meanOf(values: Values): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function clusterOf(values: Values): Cluster {
  return { sum: values.reduce((sum, value) => sum + value, 0), count: values.length };
}
