import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectRun } from '../../../packages/capacity-model/src/expected-run.ts';
import { totalOf } from '../../../packages/capacity-model/src/prices.ts';
import { costOfRun } from '../../../packages/capacity-model/src/run-cost.ts';
import { type Scenario, scenarioDefaults } from '../../../packages/capacity-model/src/scenario.ts';
import { seededRandom } from '../../../packages/capacity-model/src/seeded-random.ts';
import { simulateRun } from '../../../packages/capacity-model/src/simulate-run.ts';

const WEEK_SECONDS = 7 * 86_400;

function simulate(given: Partial<Scenario>, seed = 1) {
  const scenario = { ...scenarioDefaults, questions: 1_000, latencySeconds: 2, ...given };
  return { scenario, outcome: simulateRun(scenario, seededRandom(seed)) };
}

function usdOf({ counts }: ReturnType<typeof simulateRun>): number {
  return totalOf(costOfRun(counts));
}

describe('simulateRun', () => {
  it('repeats exactly for the same numbers', () => {
    expect(simulate({}, 3).outcome).toEqual(simulate({}, 3).outcome);
    expect(simulate({}, 3).outcome).not.toEqual(simulate({}, 4).outcome);
  });

  it('begins with five cells and adds one every 0.2 s', () => {
    const concurrent = [5, 6, 64].map((laneConcurrency) => {
      const { peakConcurrency, peakAtSeconds } = simulate({
        laneConcurrency,
        latencySeconds: 30,
        spread: 0,
      }).outcome;
      return [peakConcurrency, Number(peakAtSeconds.toFixed(3))];
    });

    expect(concurrent).toEqual([
      // As soon as the first page of tasks is sent: 500 at 3,000 a second.
      [5, 0.167],
      [6, 0.2],
      [64, 11.8],
    ]);
  });

  it('ends with the last answer and the time the results take', () => {
    const { outcome } = simulate({ questions: 3, latencySeconds: 2, spread: 0 });

    // 3 tasks are sent in 1 ms, answered in 2 s and 0.2 s, written in 1 ms.
    expect(outcome.wallSeconds).toBeCloseTo(0.001 + 2.2 + 0.001, 9);
    expect(outcome.peakConcurrency).toBe(3);
    expect(outcome.bites).toEqual([]);
  });

  it.each([
    { questions: 100_000, latencySeconds: 2 },
    { questions: 50_000, latencySeconds: 30 },
    { questions: 50_000, latencySeconds: 600 },
    { questions: 200_000, latencySeconds: 2, laneConcurrency: 447 },
    { questions: 20_000, latencySeconds: 2, laneConcurrency: 8 },
    { questions: 200_000, latencySeconds: 5, laneConcurrency: 1_000, accountConcurrency: 5_000 },
  ])('agrees with the formulas within 2 % for %j', (given) => {
    const { scenario, outcome } = simulate(given);

    const { wallSeconds, counts } = expectRun(scenario);

    expect(Math.abs(outcome.wallSeconds / wallSeconds - 1)).toBeLessThan(0.02);
    expect(Math.abs(usdOf(outcome) / totalOf(costOfRun(counts)) - 1)).toBeLessThan(0.02);
    expect(outcome.expiredMessages).toBe(0);
  });

  it('costs exactly what the formula says where latencies are constant', () => {
    const latencies = fc.double({ min: 0.1, max: 885, noNaN: true });
    const questionCounts = fc.integer({ min: 1, max: 3_000 });

    fc.assert(
      fc.property(questionCounts, latencies, (questions, latencySeconds) => {
        const { scenario, outcome } = simulate({ questions, latencySeconds, spread: 0 });

        const { counts } = expectRun(scenario);

        expect(usdOf(outcome) / totalOf(costOfRun(counts))).toBeCloseTo(1, 9);
        expect(outcome.counts.heartbeats).toBe(questions * Math.floor(latencySeconds / 20));
      }),
      { numRuns: 25 },
    );
  });

  it('answers every cell once and never exceeds a limit on concurrency', () => {
    const scenarios = fc.record({
      questions: fc.integer({ min: 1, max: 2_000 }),
      latencySeconds: fc.double({ min: 0.1, max: 800, noNaN: true }),
      spread: fc.double({ min: 0, max: 1, noNaN: true }),
      laneConcurrency: fc.integer({ min: 2, max: 1_000 }),
    });

    fc.assert(
      fc.property(scenarios, (given) => {
        const { outcome } = simulate(given);
        const { deliveries, answered, handedBack, retaken } = outcome.counts;

        expect(answered).toBe(given.questions);
        expect(deliveries).toBe(answered + handedBack);
        expect(retaken).toBe(handedBack);
        expect(outcome.peakConcurrency).toBeLessThanOrEqual(Math.min(given.laneConcurrency, 447));
      }),
      { numRuns: 25 },
    );
  });

  it('is held by the lane first, by the account above what that leaves', () => {
    const quotas = [64, 447, 448].map((laneConcurrency) => {
      const { outcome } = simulate({ laneConcurrency, latencySeconds: 30 });
      return [outcome.peakConcurrency, outcome.bites.map(({ quota }) => quota)];
    });

    expect(quotas).toEqual([
      [64, ['lane-concurrency']],
      [447, ['lane-concurrency']],
      [447, ['account-concurrency']],
    ]);
  });

  it('makes a hot partition of many short answers', () => {
    // 6 write units an answer, 1,000 a second: 167 answers of 2.2 s, 367 at once.
    const hot = simulate({ questions: 50_000, laneConcurrency: 400, spread: 0 }).outcome;
    const warm = simulate({ questions: 50_000, laneConcurrency: 340, spread: 0 }).outcome;

    expect(hot.bites.map(({ quota }) => quota)).toContain('partition-writes');
    expect(warm.bites.map(({ quota }) => quota)).toEqual(['lane-concurrency']);
    expect(warm.peakPartitionWrites).toBeGreaterThan(900);
  });

  it('hands back what takes longer than the function may run, and asks again', () => {
    const { outcome } = simulate({ latencySeconds: 600, questions: 2_000 });
    const { deliveries, handedBack, answerSeconds } = outcome.counts;

    expect(handedBack / deliveries).toBeCloseTo(0.152, 1);
    expect(answerSeconds).toBeLessThan(deliveries * 885.2);
    expect(outcome.bites.map(({ quota }) => quota)).toEqual(['lane-concurrency', 'answer-timeout']);
    expect(outcome.bites[1]?.count).toBe(handedBack);
  });

  it('refuses a latency with which no call can end in time', () => {
    expect(() => simulate({ latencySeconds: 886, spread: 0 })).toThrow('no call ends within 885 s');
  });

  it('sends tasks again whose messages have expired, until all are answered', () => {
    // Two at once for a week: 2,015 answers of 600.2 s in the first round.
    const { outcome } = simulate({
      questions: 2_100,
      latencySeconds: 600,
      spread: 0,
      laneConcurrency: 2,
    });
    const answeredInTime = 2 * Math.ceil(WEEK_SECONDS / 600.2);

    expect(outcome.expiredMessages).toBe(2_100 - answeredInTime);
    expect(outcome.counts.answered).toBe(2_100);
    expect(outcome.counts.planned).toBe(2_100 + 2_100 - answeredInTime);
    expect(outcome.counts.finalizations).toBe(2);
    // Results twice, and once to see which tasks are missing.
    expect(outcome.counts.recordsRead).toBe(3 * 2_100);
    expect(outcome.oldestMessageSeconds).toBeLessThan(WEEK_SECONDS);
    expect(outcome.bites.map(({ quota }) => quota)).toEqual([
      'lane-concurrency',
      'message-retention',
    ]);
    expect(outcome.bites[1]?.atSeconds).toBeCloseTo(WEEK_SECONDS, -1);
  });
});
