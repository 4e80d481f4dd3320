import { limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { expectBatchedRun } from '../../../packages/capacity-model/src/batch-cost.ts';
import {
  answeredCell,
  deliveredCell,
  heartbeat,
  sumOf,
  timing,
} from '../../../packages/capacity-model/src/cell-protocol.ts';
import {
  expectRun,
  rampDelaySeconds,
  scenarioDefaults,
} from '../../../packages/capacity-model/src/expect-run.ts';
import { charge, prices, totalOf } from '../../../packages/capacity-model/src/prices.ts';
import { quotaRates } from '../../../packages/capacity-model/src/quotas.ts';
import { costOfIdleMonth, costOfRun } from '../../../packages/capacity-model/src/run-cost.ts';
import { stackFacts } from '../../../packages/capacity-model/src/stack-facts.ts';
import { builtinLanes } from '../../../packages/core/src/spec/builtin-lanes.ts';

const oneAnswer = [...deliveredCell, ...answeredCell];

describe('the cell protocol', () => {
  it('beats as often as core', () => {
    expect(timing.heartbeatSeconds * 1_000).toBe(limits.heartbeatMs);
  });

  it('counts each request of an answer', () => {
    const byName = new Map<string, number>();
    for (const { service, name, count } of oneAnswer) {
      const key = `${service} ${name}`;
      byName.set(key, (byName.get(key) ?? 0) + count);
    }

    expect(Object.fromEntries(byName)).toEqual({
      'sqs ReceiveMessage': 1,
      'sqs DeleteMessage': 1,
      'sqs ChangeMessageVisibilityBatch': 1,
      'dynamodb BatchGetItem': 1,
      'dynamodb PutItem': 2,
      'dynamodb UpdateItem': 2,
      's3 GetObject': 1,
    });
  });

  it('adds up to 7 write and 5 read units per answer, 1 write unit per heartbeat', () => {
    expect(sumOf(oneAnswer, ({ writeUnits = 0 }) => writeUnits)).toBe(7);
    expect(sumOf(oneAnswer, ({ readUnits = 0 }) => readUnits)).toBe(5);
    expect(sumOf(heartbeat, ({ writeUnits = 0 }) => writeUnits)).toBe(1);
  });
});

describe('costOfRun', () => {
  it('matches a hand calculation for 1,000 answers of 2 s', () => {
    const { counts } = expectRun({
      ...scenarioDefaults,
      questions: 1_000,
      latencySeconds: 2,
      spread: 0,
    });

    const bill = new Map(costOfRun(counts).map(({ price, usd }) => [price, usd]));

    const controlGbSeconds = ((2 * 1_000) / 3_000) * (1_769 / 1_024);
    const byHand = [
      [prices.lambdaCompute, (1_000 * 2.2 * 0.5 + controlGbSeconds) * 0.0000133334],
      [prices.lambdaRequests, 1_002 * 0.2e-6],
      [prices.sqsRequests, 3_100 * 0.4e-6],
      [prices.sqsFairRequests, 3_100 * 0.1e-6],
      [prices.dynamoWrites, 7_000 * 0.625e-6],
      [prices.dynamoReads, 6_000 * 0.125e-6],
      [prices.s3Puts, (8 + 1) * 5e-6],
      [prices.s3Gets, 1_003 * 0.4e-6],
      [prices.logIngestion, ((1_000 * 1_400) / 1_024 ** 3) * 0.5],
    ] as const;
    expect([...bill.keys()]).toEqual(byHand.map(([price]) => price));
    for (const [price, usd] of byHand) expect(bill.get(price)).toBeCloseTo(usd, 10);
  });
});

describe('charge', () => {
  it('charges by the unit of the price', () => {
    expect(charge(prices.sqsRequests, 2_500_000).usd).toBe(1);
    expect(charge(prices.s3Puts, 1_000).usd).toBe(0.005);
  });
});

describe('rampDelaySeconds', () => {
  it.each([
    [2, 0],
    [5, 0],
    [64, 59 ** 2 / 640],
    [1_000, 995 ** 2 / 10_000],
  ])('is the area lost below full concurrency of %d', (concurrency, seconds) => {
    expect(rampDelaySeconds(concurrency)).toBeCloseTo(seconds, 9);
  });
});

describe('costOfIdleMonth', () => {
  it('consists of pollers, alarms and the reconciler', () => {
    const lines = costOfIdleMonth();
    const quantityOf = (cause: string) => lines.find((line) => line.cause === cause)?.quantity;

    expect(quantityOf('long polls of 10 mappings')).toBe(10 * 5 * 3 * 43_800);
    expect(quantityOf('alarms on 26 metrics')).toBe(26);
    expect(quantityOf('reconciler, invocations')).toBe(43_800);
    expect(quantityOf('reconciler, compute')).toBeCloseTo(43_800 * 0.3, 6);
  });

  it('has a mapping for each lane', () => {
    // Plus the simulator's lane, plan and finalize.
    expect(stackFacts.mappingCount).toBe(Object.keys(builtinLanes).length + 1 + 2);
    expect(stackFacts.laneCount).toBe(Object.keys(builtinLanes).length + 1);
  });
});

describe('expectBatchedRun', () => {
  const scenario = { ...scenarioDefaults, questions: 1_000, latencySeconds: 30 };

  it('is the run of the formula for one cell per invocation', () => {
    const usd = totalOf(costOfRun(expectRun(scenario).counts));

    const batched = expectBatchedRun(scenario, 1);

    expect(batched.usd).toBeCloseTo(usd, 6);
    expect(batched.slotsInUseRatio).toBeCloseTo(1, 4);
  });

  it('saves nine tenths of the waiting where all calls take equally long', () => {
    const constant = { ...scenario, spread: 0 };
    const usd = totalOf(costOfRun(expectRun(constant).counts));

    const batched = expectBatchedRun(constant, 10);

    const savedPerAnswer = 0.9 * (30.2 * 0.5 * 0.0000133334 + 0.2e-6 + 0.4e-6 + 0.1e-6);
    expect(usd - batched.usd).toBeCloseTo(1_000 * savedPerAnswer, 5);
    expect(batched.slotsInUseRatio).toBeCloseTo(1, 4);
  });

  it('waits for the slowest: the mean of two draws of a lognormal is known', () => {
    // The mean of the larger of two is mean * (1 + Gini coefficient), and that of a lognormal is erf(sigma / 2).
    const gini = 0.276326;
    const { slotsInUseRatio } = expectBatchedRun(scenario, 2);

    const ratio = (30 + 0.2) / (30 * (1 + gini) + 0.2);
    expect(slotsInUseRatio).toBeCloseTo(ratio, 3);
  });
});

describe('quotaRates', () => {
  it('lists the tightest quota first', () => {
    const rates = quotaRates({ ...scenarioDefaults, questions: 1, latencySeconds: 2 });

    expect(rates.slice(0, 3).map(({ name, limit }) => [name, limit])).toEqual([
      ['lane, `maximumConcurrency`', 64],
      ['account concurrency', 1_000],
      ['mapping, largest `maximumConcurrency`', 1_000],
    ]);
    expect(rates[0]?.answersPerSecond).toBeCloseTo(64 / 2.2, 9);
    expect(rates[1]?.answersPerSecond).toBeCloseTo(1_000 / 2.2, 9);
  });

  it('counts the heartbeats of long answers among the writes', () => {
    const rates = quotaRates({ ...scenarioDefaults, questions: 1, latencySeconds: 600 });

    const partition = rates.find(({ name }) => name.includes('partitions'));

    expect(partition?.answersPerSecond).toBeCloseTo(16_000 / (6 + 30), 9);
  });
});
