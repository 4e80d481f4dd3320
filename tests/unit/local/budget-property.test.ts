import {
  type Benchmark,
  type Clock,
  type ModelResponse,
  priceUsage,
  type Random,
} from '@thrice/core';
import { LocalEngine, workGroup } from '@thrice/local';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toNanoUsd } from '../../../packages/core/src/domain/budget.ts';
import { UNKNOWN_USAGE } from '../../../packages/core/src/domain/call.ts';
import { toJsonl } from '../../support/additions.ts';
import {
  aBenchmark,
  aConfig,
  aLane,
  aModelResponse,
  anError,
  aUsage,
} from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeModelClient } from '../../support/fake-model-client.ts';
import { seededDraw } from '../../support/kill-tracker.ts';
import { aPlanIn, workGroupOptions } from '../../support/local-work.ts';
import { type Death, MortalEngine } from '../../support/mortal-engine.ts';
import { passTime } from '../../support/pass-time.ts';
import { planGroup } from '../../support/plan-group.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const WORKER_COUNT = 4;
const SLOTS_PER_WORKER = 16;
const QUESTION_COUNT = 200;
/** Tokens that `boundCall` allows around a prompt of one message. */
const AROUND_TOKENS = 256 + 16 + 2;

/** One drawn case: what is asked, what it costs, how often calls go wrong, and who dies when. */
interface Case {
  readonly seed: number;
  readonly inputPrice: number;
  readonly outputPrice: number;
  readonly maxTokens: number;
  readonly longestQuestion: number;
  /** The cap, in worst cases of the longest question. */
  readonly capInCalls: number;
  /** Each of the ways in which a call goes wrong has this probability. */
  readonly failureRatio: number;
  readonly deaths: readonly (Death | undefined)[];
}

const death = fc.record({
  afterCalls: fc.integer({ min: 20, max: 600 }),
  isLastCallStored: fc.boolean(),
});
const cases: fc.Arbitrary<Case> = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
  inputPrice: fc.double({ min: 0.01, max: 30, noNaN: true }),
  outputPrice: fc.double({ min: 0.01, max: 90, noNaN: true }),
  maxTokens: fc.integer({ min: 1, max: 4_000 }),
  longestQuestion: fc.integer({ min: 20, max: 400 }),
  capInCalls: fc.integer({ min: 34, max: 60 }),
  failureRatio: fc.constantFrom(0, 0.02, 0.08),
  deaths: fc.array(fc.option(death, { nil: undefined }), {
    minLength: WORKER_COUNT,
    maxLength: WORKER_COUNT,
  }),
});

/** A vendor that bills: also answers that nobody receives. */
class BillingVendor {
  billedNanoUsd = 0;
  /** Calls that it may have billed, although nobody knows how much. */
  unknownCount = 0;
  readonly #case: Case;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(drawn: Case, clock: Clock, random: Random) {
    this.#case = drawn;
    this.#clock = clock;
    this.#random = random;
  }

  async answer(promptBytes: number): Promise<ModelResponse | Error> {
    const { failureRatio, maxTokens } = this.#case;
    const random = this.#random;
    await this.#clock.sleep(Math.floor(random() * 2_000));
    const usage = aUsage({
      inputTokens: 1 + Math.floor(random() * (promptBytes + AROUND_TOKENS)),
      outputTokens: Math.floor(random() * (maxTokens + 1)),
    });
    const fault = Math.floor(random() / Math.max(failureRatio, 1e-9));
    if (fault === 0) return anError('model-rate-limited', { status: 429, retryAfterMs: 300 });
    if (fault === 1) return anError('model-unavailable', { status: 503 });
    this.billedNanoUsd += toNanoUsd(priceUsage(priceOf(this.#case), usage) ?? 0);
    if (fault === 2) {
      this.unknownCount += 1;
      return anError('connection-failed');
    }
    if (fault === 3) {
      this.unknownCount += 1;
      const cutOff = anError('truncated-response');
      return aModelResponse({ usage: UNKNOWN_USAGE, fault: cutOff, finishReason: null });
    }
    if (fault === 4) return aModelResponse({ usage, finishReason: 'content-filter' });
    return aModelResponse({ usage, servedModel: fault === 5 ? 'other' : 'm' });
  }
}

function priceOf({ inputPrice, outputPrice }: Case) {
  return { input: inputPrice, output: outputPrice };
}

/** The worst case of a call for the longest question, USD. */
function worstUsd({ inputPrice, outputPrice, longestQuestion, maxTokens }: Case): number {
  return ((AROUND_TOKENS + longestQuestion) * inputPrice + maxTokens * outputPrice) / 1e6;
}

function benchmarkOf(drawn: Case): Benchmark {
  return aBenchmark({
    budgetUsd: drawn.capInCalls * worstUsd(drawn),
    parallel: SLOTS_PER_WORKER,
    maxAttempts: 20,
    lanes: new Map([['lab', aLane({ servedModel: 'warn' })]]),
    prices: new Map([['lab/m', priceOf(drawn)]]),
    configs: [aConfig({ maxTokens: drawn.maxTokens })],
  });
}

function questionsOf({ longestQuestion }: Case, random: Random) {
  return Array.from({ length: QUESTION_COUNT }, (_, index) => ({
    id: `q${index}`,
    question: 'x'.repeat(1 + Math.floor(random() * longestQuestion)),
    target: '42',
  }));
}

describe('a budget that several processes share', () => {
  it('is never exceeded by what the vendor bills, and nearly all of it can be used', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (drawn) => {
        const { billed, isOver, unknownCount, account, endings } = await spend(drawn);
        const capNanoUsd = account.capNanoUsd ?? 0;
        const hasDeath = drawn.deaths.some((each) => each !== undefined);

        expect(isOver).toBe(false);
        expect(account.spentNanoUsd).toBeLessThanOrEqual(capNanoUsd);
        expect(account.spentNanoUsd).toBeGreaterThanOrEqual(billed);
        expect(account.reservedNanoUsd).toBe(0);
        if (endings.every(({ kind }) => kind !== 'paused')) return;
        expect(account.spentNanoUsd / capNanoUsd).toBeGreaterThanOrEqual(0.97);
        if (!hasDeath && unknownCount === 0) {
          expect(billed / capNanoUsd).toBeGreaterThanOrEqual(0.97);
        }
      }),
      { numRuns: 3 },
    );
  }, 120_000);
});

/** Has several processes work on a group, some of which die, and one more that resumes it. */
async function spend(drawn: Case) {
  const clock = new FakeClock();
  const random = seededDraw(drawn.seed);
  const benchmark = benchmarkOf(drawn);
  const vendor = new BillingVendor(drawn, clock, random);
  await using folder = await temporaryFolder({
    'q.jsonl': toJsonl(questionsOf(drawn, random)),
  });
  using planner = new LocalEngine(folder.path, clock);
  const header = await planGroup(await aPlanIn(folder, { benchmark, clock, random }), planner);
  const capNanoUsd = Math.floor((benchmark.budgetUsd ?? 0) * 1e9);
  let isOver = false;
  const start = (deathOf: Death | undefined) => {
    const real = new LocalEngine(folder.path, clock);
    const mortal = new MortalEngine(real, deathOf);
    const models = new FakeModelClient(async ({ messages }) => {
      const text = messages.map(({ content }) => content).join('');
      const answer = await vendor.answer(Buffer.byteLength(text));
      if (vendor.billedNanoUsd > capNanoUsd) isOver = true;
      return mortal.isDead ? await new Promise<never>(() => undefined) : answer;
    });
    const { engine } = mortal;
    const options = { engine, header, benchmark, clientFor: () => models, random };
    const ending = workGroup(workGroupOptions(options));
    return { real, end: Promise.race([ending, mortal.died.then(() => undefined)]) };
  };
  const first = drawn.deaths.map(start);
  const ends = [...(await passTime(first, clock))];
  const resumed = start(undefined);
  ends.push(...(await passTime([resumed], clock)));
  const endings = ends.filter((ending) => ending !== undefined);
  const [account] = await planner.budgets.readAccounts(header.group);
  for (const { real } of [...first, resumed]) real[Symbol.dispose]();
  if (account === undefined) throw new Error('expected the account of the group');
  const { billedNanoUsd: billed, unknownCount } = vendor;
  return { billed, isOver, unknownCount, account, endings };
}
