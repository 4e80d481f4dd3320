import { priceUsage } from '@thrice/core';
import { LocalEngine, type WorkEvent, workGroup } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { toJsonl } from '../../support/additions.ts';
import { aBenchmark, aConfig, aLane, aModelResponse, aUsage } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeModelClient } from '../../support/fake-model-client.ts';
import { aPlanIn, workGroupOptions } from '../../support/local-work.ts';
import { passTime } from '../../support/pass-time.ts';
import { planGroup } from '../../support/plan-group.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const price = { input: 0, output: 1_000_000 };
const MAX_TOKENS = 10;
const CAP_USD = 200;

/** Spends a budget of 20 calls on calls that cost so much, in tokens of a dollar, 16 of them at once. */
async function spend(outputTokens: (callNo: number) => number) {
  const questions = Array.from({ length: 100 }, (_, index) => ({
    id: `q${index}`,
    question: `x${index}`,
    target: '42',
  }));
  await using folder = await temporaryFolder({ 'q.jsonl': toJsonl(questions) });
  const clock = new FakeClock();
  using engine = new LocalEngine(folder.path, clock);
  const benchmark = aBenchmark({
    budgetUsd: CAP_USD,
    parallel: 16,
    lanes: new Map([['lab', aLane()]]),
    prices: new Map([['lab/m', price]]),
    configs: [aConfig({ maxTokens: MAX_TOKENS })],
  });
  const header = await planGroup(await aPlanIn(folder, { benchmark, clock }), engine);
  let billedUsd = 0;
  const models = new FakeModelClient(async () => {
    const usage = aUsage({ inputTokens: 5, outputTokens: outputTokens(models.requests.length) });
    billedUsd += priceUsage(price, usage) ?? 0;
    await clock.sleep(1_000);
    return aModelResponse({ usage });
  });
  const events: WorkEvent[] = [];
  const observe = (event: WorkEvent) => events.push(event);
  const options = { engine, header, benchmark, clientFor: () => models, observe };
  const end = workGroup(workGroupOptions(options));
  const [ending] = await passTime([{ real: engine, end }], clock);
  const [account] = await engine.budgets.readAccounts(header.group);
  const raised = events.filter(({ kind }) => kind === 'bound-raised');
  return { ending, billedUsd, account, raised, callCount: models.requests.length };
}

describe('a budget of calls to a vendor that ignores their maximum of tokens', () => {
  it('is not exceeded, once the first answer shows what a call really costs', async () => {
    const { ending, billedUsd, raised, account } = await spend(() => 6 * MAX_TOKENS);

    expect(ending?.kind).toBe('paused');
    expect(billedUsd).toBeLessThanOrEqual(CAP_USD);
    expect(billedUsd).toBeGreaterThan(CAP_USD - 60);
    expect(account?.spentNanoUsd).toBe(billedUsd * 1e9);
    expect(raised).toEqual([
      { kind: 'bound-raised', lane: 'lab', model: 'm', costUsd: 60, boundUsd: 10, ratio: 6 },
    ]);
  });

  it('learns from later answers, too, and says so each time', async () => {
    const { billedUsd, raised } = await spend((no) => (no < 4 ? 1 : 2) * MAX_TOKENS);

    expect(billedUsd).toBeLessThanOrEqual(CAP_USD + 16 * MAX_TOKENS);
    expect(raised).toMatchObject([{ ratio: 2 }]);
  });

  it('is used as before where the vendor keeps to it', async () => {
    const { billedUsd, raised, callCount } = await spend(() => MAX_TOKENS);

    expect(billedUsd).toBe(CAP_USD);
    expect(callCount).toBe(CAP_USD / MAX_TOKENS);
    expect(raised).toEqual([]);
  });
});
