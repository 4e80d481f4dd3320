import { writeFile } from 'node:fs/promises';
import type { CellRow, Summary } from '@thrice/core';
import type { Simulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../support/additions.ts';
import {
  billedPrice,
  billedUsd,
  paidTwice,
  startBillingVendor,
} from '../support/billing-vendor.ts';
import { readCellRows } from '../support/cell-rows.ts';
import { aVerdict } from '../support/judged-benchmark.ts';
import { startServer } from '../support/model-servers.ts';
import { callThrice, groupOf } from '../support/run-thrice.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const count = 7;

function requestCount({ stats }: Pick<Simulator, 'stats'>): number {
  return [...stats().requestsByQuestion.values()].reduce((sum, each) => sum + each.requests, 0);
}

describe('configs of several models', () => {
  it('fail over, escalate and vote, are rescored, shown and verified, and say what each step took', async () => {
    await using sound = await startServer({ count });
    await using broken = await startServer({ count, faults: [{ kind: 'unauthorized' }] });
    const asked = { model: 'sound/m' };
    const configs = [
      {
        name: 'routed',
        solver: 'router',
        models: ['keyed/x', 'broken/m', 'sound/m'],
        fail_over: true,
      },
      { name: 'first-with-key', solver: 'router', models: ['keyed/x', 'sound/m'] },
      { name: 'cascade', solver: 'cascade', members: [asked, asked], escalate: asked },
      {
        name: 'judged',
        solver: 'cascade',
        members: [asked, asked],
        agreement: 'judge',
        judge: asked,
        escalate: asked,
      },
      { name: 'vote', solver: 'vote', ...asked, samples: 3 },
    ];
    const lanes = {
      sound: { base_url: sound.url },
      broken: { base_url: broken.url },
      keyed: { base_url: broken.url, api_key_env: 'A_KEY_THAT_IS_NOT_SET' },
    };
    const specOf = (scorer: string) =>
      JSON.stringify({
        questions: 'questions.jsonl',
        parallel: 4,
        lanes,
        configs: configs.map((config) => ({ scorer, ...config })),
      });
    await using folder = await temporaryFolder({
      'sums.json': specOf('numeric'),
      'questions.jsonl': toJsonl(additions(count)),
    });
    const thrice = (...argv: string[]) => callThrice(argv, { cwd: folder.path });

    const ran = await thrice('run', 'sums.json');
    const group = groupOf(ran);
    const rowsOf = (config: string) => readCellRows(folder.resolve('.thrice'), group, config);
    const stepsOf = ({ calls }: CellRow) => calls.map(({ step }) => step);

    expect([ran.exitCode, ran.stderr]).toEqual([
      0,
      expect.stringContaining('routed: without keyed/x, whose key is not set'),
    ]);
    const routed = await rowsOf('routed');
    expect(routed.map(stepsOf)).toEqual(routed.map(() => ['model-3']));
    for (const { calls } of routed) {
      expect(calls[0]?.insteadOf).toEqual([
        { model: 'keyed/x', code: 'missing-key' },
        { model: 'broken/m', code: 'auth-failed' },
      ]);
    }
    // Those in flight when its breaker opened, at most.
    expect(requestCount(broken)).toBeLessThanOrEqual(4);
    expect((await rowsOf('first-with-key')).map(stepsOf)).toEqual(routed.map(() => ['model-2']));
    expect((await rowsOf('cascade')).map(stepsOf)).toEqual(
      routed.map(() => ['member-1', 'member-2']),
    );
    // Its reply is a sum, which is no YES.
    expect((await rowsOf('judged')).map(stepsOf)).toEqual(
      routed.map(() => ['member-1', 'member-2', 'judge', 'escalation']),
    );
    const { configs: summaries } = JSON.parse(
      (await thrice('summarize', group, '--json')).stdout,
    ) as Summary;
    expect(summaries.find(({ config }) => config === 'judged')).toMatchObject({
      answered: count,
      steps: [
        { step: 'escalation', calls: count, share: 1 },
        { step: 'judge' },
        { step: 'member-1' },
        { step: 'member-2' },
      ],
    });

    await writeFile(folder.resolve('sums.json'), specOf('exact'));
    expect(await thrice('rescore', group, '--spec', 'sums.json')).toMatchObject({ exitCode: 0 });
    expect(await thrice('verify', group)).toMatchObject({ exitCode: 0 });
    const shown = await thrice('show', `${group}-r1`, 'judged', 'q0001');
    expect(shown.stdout).toMatch(/call member-1.*call member-2.*call judge.*call escalation/s);
    const before = requestCount(sound);
    expect(await thrice('resume', group)).toMatchObject({ exitCode: 0 });
    expect(requestCount(sound)).toBe(before);
  });

  it('cost what their vendors bill: the judge of a cascade as a part of its answers, that of its scorer as overhead', async () => {
    const isEven = (call: string) => Number(/\/q(\d+)\//.exec(call)?.[1]) % 2 === 0;
    await using members = await startBillingVendor(() => '42');
    await using referee = await startBillingVendor((call) => (isEven(call) ? 'YES' : 'NO'));
    await using strong = await startBillingVendor(() => '42');
    await using court = await startBillingVendor(() => aVerdict(true));
    const lanes = { members, referee, strong, court };
    await using folder = await temporaryFolder({
      'cascade.toml': `questions = "questions.jsonl"
${Object.entries(lanes)
  .map(([lane, { url }]) => `[lanes.${lane}]\nbase_url = "${url}"\n`)
  .join('')}
[scorers.quality]
kind = "judge"
model = "court/j"
[[configs]]
name = "a"
solver = "cascade"
members = [{ model = "members/m" }, { model = "members/n" }]
agreement = "judge"
judge = { model = "referee/j" }
escalate = { model = "strong/m" }
scorer = "quality"
${['members/m', 'members/n', 'referee/j', 'strong/m', 'court/j'].map(billedPrice).join('')}`,
      'questions.jsonl': toJsonl(additions(count)),
    });
    const thrice = (...argv: string[]) => callThrice(argv, { cwd: folder.path });

    const ran = await thrice('run', 'cascade.toml');

    expect(ran.exitCode).toBe(0);
    const bills = Object.values(lanes).map((vendor) => Math.round(billedUsd(vendor) * 100));
    expect(bills).toEqual([2 * count, count, Math.floor(count / 2), count]);
    expect(Object.values(lanes).flatMap(paidTwice)).toEqual([]);
    const rows = await readCellRows(folder.resolve('.thrice'), groupOf(ran), 'a');
    const centsOf = (key: 'costUsd' | 'overheadUsd' | 'wasteUsd') =>
      Math.round(rows.reduce((sum, row) => sum + (row[key] ?? Number.NaN), 0) * 100);
    const [asMembers = 0, asReferee = 0, asStrong = 0, asCourt = 0] = bills;
    expect(centsOf('costUsd')).toBe(asMembers + asReferee + asStrong);
    expect([centsOf('overheadUsd'), centsOf('wasteUsd')]).toEqual([asCourt, 0]);
    const status = await thrice('status', groupOf(ran), '--json');
    expect(JSON.parse(status.stdout)).toMatchObject({
      configs: [
        {
          costUsd: expect.closeTo(bills.reduce((sum, bill) => sum + bill, 0) / 100, 9) as number,
          overheadUsd: expect.closeTo(asCourt / 100, 9) as number,
        },
      ],
    });
    expect(await thrice('verify', groupOf(ran))).toMatchObject({ exitCode: 0 });
  });
});
