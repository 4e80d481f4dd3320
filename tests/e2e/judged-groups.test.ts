import { readFile, writeFile } from 'node:fs/promises';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { loadRecordedCalls } from '../../packages/cli/src/local/load-recorded-calls.ts';
import {
  type BillingVendor,
  billedPrice,
  billedUsd,
  paidTwice,
  type Saying,
  startBillingVendor,
} from '../support/billing-vendor.ts';
import { countOutcomes, readCellRows } from '../support/cell-rows.ts';
import { aVerdict } from '../support/judged-benchmark.ts';
import { judgedFiles } from '../support/judged-files.ts';
import { journaledCalls } from '../support/paid-calls.ts';
import {
  callThrice,
  fakeTerminal,
  groupOf,
  type Outcome,
  startThrice,
} from '../support/run-thrice.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { waitWhileRunning } from '../support/wait-until.ts';

const COUNT = 6;
const sane = () => aVerdict(true);
const isOut = () => undefined;

/** A judged benchmark with its vendors. */
interface Judged extends AsyncDisposable {
  readonly model: BillingVendor;
  readonly judge: BillingVendor;
  readonly folder: TemporaryFolder;
  readonly thrice: (...argv: string[]) => Promise<Outcome>;
  readonly outcomes: (group: string) => Promise<Readonly<Record<string, number>>>;
}

async function aJudgedFolder(
  own: Partial<Parameters<typeof judgedFiles>[1]> & {
    readonly judge?: Saying;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<Judged> {
  await using resources = new AsyncDisposableStack();
  const model = resources.use(await startBillingVendor(() => '42'));
  const judge = resources.use(await startBillingVendor(own.judge ?? sane));
  const files = judgedFiles({ model, judge }, { count: COUNT, ...own });
  const folder = resources.use(await temporaryFolder(files));
  const owned = resources.move();
  const { environment = {} } = own;
  return {
    model,
    judge,
    folder,
    thrice: (...argv) => callThrice(argv, { cwd: folder.path, environment }),
    outcomes: async (group) =>
      countOutcomes(await readCellRows(folder.resolve('.thrice'), group, 'a')),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe('a judge whose key is missing', () => {
  const judgeLane = 'api_key_env = "COURT_KEY"';

  it('is found before the first answer is bought', async () => {
    await using judged = await aJudgedFolder({ judgeLane });

    const refused = await judged.thrice('run', 'judged.toml');

    expect(refused.exitCode).toBe(69);
    expect(refused.stderr).toContain('config "a": expected a key in COURT_KEY, found none');
    expect(judged.model.requestCount).toBe(0);
  });

  it('is found by doctor, which calls it where it has one', async () => {
    await using judged = await aJudgedFolder({ judgeLane });
    await using keyed = await aJudgedFolder({
      judgeLane,
      environment: { COURT_KEY: 'sk-1234567' },
    });

    const refused = await judged.thrice('doctor', 'judged.toml');
    const called = await keyed.thrice('doctor', 'judged.toml');

    expect(refused.stdout).toContain('lane court: expected a key in COURT_KEY');
    expect(called.stdout).toContain('lane court, model judge: ');
    expect([judged.judge.requestCount, keyed.judge.billed.size]).toEqual([0, 1]);
  });
});

describe('a budget', () => {
  it('needs the price of the judge', async () => {
    await using judged = await aJudgedFolder({ top: 'budget_usd = 5' });
    const spec = await readFile(judged.folder.resolve('judged.toml'), 'utf8');
    await writeFile(
      judged.folder.resolve('judged.toml'),
      spec.replace('[prices."court/judge"]', '[prices."court/other"]'),
    );

    const refused = await judged.thrice('run', 'judged.toml');

    expect(refused.exitCode).toBe(64);
    expect(refused.stderr).toContain('configs.a.scorer.model: expected a price');
    expect(refused.stderr).toContain('add [prices."court/judge"]');
  });

  it('needs the price of a judge that is named later', async () => {
    await using judged = await aJudgedFolder({ top: 'budget_usd = 5' });
    const group = groupOf(await judged.thrice('run', 'judged.toml'));

    const refused = await judged.thrice('judge', group, '--model', 'court/other');
    const status = await judged.thrice('status', group);

    expect(refused.exitCode).toBe(64);
    expect(refused.stderr).toContain(
      'configs.a.scorer.model: expected a price of the model under a budget, received none; add [prices."court/other"]; take it into the group with: thrice resume',
    );
    expect(status.stdout).toContain(`${group}: complete\n`);
    const spec = await readFile(judged.folder.resolve('judged.toml'), 'utf8');
    const priced = `${spec}${billedPrice('court/other')}`;
    await writeFile(judged.folder.resolve('judged.toml'), priced);
    expect((await judged.thrice('resume', group, '--spec', 'judged.toml')).exitCode).toBe(0);
    expect((await judged.thrice('judge', group, '--model', 'court/other')).exitCode).toBe(0);
  });

  it("of the judge's lane leaves the answers ungraded until it is raised", async () => {
    await using judged = await aJudgedFolder({ judgeLane: 'budget_usd = 0.000001' });

    const paused = await judged.thrice('run', 'judged.toml');
    const group = groupOf(paused);
    const status = await judged.thrice('status', group);
    const ungraded = await judged.outcomes(group);
    const spec = await readFile(judged.folder.resolve('judged.toml'), 'utf8');
    await writeFile(
      judged.folder.resolve('judged.toml'),
      spec.replace('budget_usd = 0.000001', ''),
    );
    const resumed = await judged.thrice('resume', group, '--spec', 'judged.toml');

    expect(paused.exitCode).toBe(3);
    expect(ungraded).toEqual({ ungraded: COUNT });
    expect(status.stdout).toContain(
      `: paused at budget\n${COUNT}/${COUNT} cells, ${COUNT} to grade`,
    );
    expect(resumed.exitCode).toBe(0);
    expect(await judged.outcomes(group)).toEqual({ scored: COUNT });
    expect([judged.model.billed.size, judged.judge.billed.size]).toEqual([COUNT, COUNT]);
    expect([...paidTwice(judged.model), ...paidTwice(judged.judge)]).toEqual([]);
  });
});

describe('an estimate', () => {
  it('has the calls of the judges apart, which only a pilot measures', async () => {
    await using judged = await aJudgedFolder();

    const guessed = await judged.thrice('estimate', 'judged.toml');
    const piloted = await judged.thrice('estimate', 'judged.toml', '--pilot', '2');

    expect(guessed.stdout).toMatch(/^judges of a\s+6\s+at most 6 /m);
    expect(guessed.stdout).toContain('judges of a: only a pilot measures the calls of judges');
    expect(piloted.stdout).toMatch(/^a\s+6\s+about 6 .*\$0\.06$/m);
    expect(piloted.stdout).toMatch(/^judges of a\s+6\s+about 6 .*\$0\.06$/m);
  });
});

describe('verdicts of an earlier group', () => {
  it('are reused with its answers', async () => {
    await using judged = await aJudgedFolder();
    const first = groupOf(await judged.thrice('run', 'judged.toml'));
    const billed = [billedUsd(judged.model), billedUsd(judged.judge)];

    const again = await judged.thrice('run', 'judged.toml', '--reuse', first);

    expect(again.exitCode).toBe(0);
    expect(await judged.outcomes(groupOf(again))).toEqual({ scored: COUNT });
    expect([billedUsd(judged.model), billedUsd(judged.judge)]).toEqual(billed);
  });

  it('are reused where they were bought after its plan, and verified', async () => {
    await using judged = await aJudgedFolder();
    const path = judged.folder.resolve('judged.toml');
    const spec = await readFile(path, 'utf8');
    await writeFile(path, spec.replace('scorer = "quality"', 'scorer = "exact"'));
    const first = groupOf(await judged.thrice('run', 'judged.toml'));
    await judged.thrice('judge', first, '--scorer', 'quality');
    const billed = billedUsd(judged.judge);
    await writeFile(path, spec);

    const again = await judged.thrice('run', 'judged.toml', '--reuse', first);

    expect(again.exitCode).toBe(0);
    expect(await judged.outcomes(groupOf(again))).toEqual({ scored: COUNT });
    expect([billed > 0, billedUsd(judged.judge)]).toEqual([true, billed]);
    expect((await judged.thrice('verify', groupOf(again))).exitCode).toBe(0);
  });

  it('are served by a simulator that replays it, also to a judge whose calls go in batches', async () => {
    await using judged = await aJudgedFolder();
    const group = groupOf(await judged.thrice('run', 'judged.toml'));
    const recorded = { name: group, dir: judged.folder.resolve('.thrice') };
    const calls = await loadRecordedCalls(recorded, fakeTerminal());
    await using replay = await startSimulator({
      calls,
      faults: { seed: 1, faults: [], batches: { seconds: 1 } },
    });
    const vendors = { model: replay, judge: replay };
    const files = judgedFiles(vendors, { count: COUNT, judgeLane: 'batch = true' });
    await using folder = await temporaryFolder(files);

    const ran = await callThrice(['run', 'judged.toml'], { cwd: folder.path });

    expect(calls).toHaveLength(2 * COUNT);
    expect(ran.exitCode).toBe(0);
    expect(ran.stderr).toContain('sent: batch ');
    const rows = await readCellRows(folder.resolve('.thrice'), groupOf(ran), 'a');
    expect(countOutcomes(rows)).toEqual({ scored: COUNT });
  });
});

describe('a target that is corrected', () => {
  it('is what the judge is told about answers that were still to come', async () => {
    const isTold41 = (messages: string) => messages.includes('answer begins ====\\n41\\n');
    await using judged = await aJudgedFolder({
      judge: (_, messages) => aVerdict(isTold41(messages)),
    });
    const path = judged.folder.resolve('questions.jsonl');
    const questions = await readFile(path, 'utf8');
    await writeFile(path, questions.replaceAll('"42"', '"41"'));
    judged.model.become(isOut);
    const group = groupOf(await judged.thrice('run', 'judged.toml'));
    judged.model.become(() => '41');
    await writeFile(path, questions);

    const resumed = await judged.thrice('resume', group, '--spec', 'judged.toml');

    expect(resumed.exitCode).toBe(0);
    const rows = await readCellRows(judged.folder.resolve('.thrice'), group, 'a');
    expect(rows.map(({ output, target, score }) => [output, target, score])).toEqual(
      Array.from({ length: COUNT }, () => ['41', ['42'], 0]),
    );
    expect(judged.judge.billed.size).toBe(COUNT);
    expect((await judged.thrice('verify', group)).exitCode).toBe(0);
  });

  it('is asked about again, and no other', async () => {
    await using judged = await aJudgedFolder();
    const group = groupOf(await judged.thrice('run', 'judged.toml'));
    const path = judged.folder.resolve('questions.jsonl');
    const questions = await readFile(path, 'utf8');
    await writeFile(path, questions.replace('"42"', '"forty-two"'));

    const resumed = await judged.thrice('resume', group, '--spec', 'judged.toml');

    expect(resumed.exitCode).toBe(0);
    expect(await judged.outcomes(group)).toEqual({ scored: COUNT });
    expect([...judged.judge.billed.keys()].slice(COUNT)).toEqual([`${group}-r1/a@2/q0/judge-1`]);
    expect((await judged.thrice('verify', group)).exitCode).toBe(0);
  });
});

describe('a judged cell', () => {
  it('is shown with its verdict, the calls and the failures of its judge', async () => {
    const replies = ['Nice.', aVerdict(true, 'forty-two')];
    await using judged = await aJudgedFolder({ count: 1, judge: () => replies.shift() });
    const group = groupOf(await judged.thrice('run', 'judged.toml'));

    const shown = await judged.thrice('show', group, 'a', 'q0');
    const byGrade = await judged.thrice('show', group, 'a@1', 'q0');

    expect(shown.stdout).toMatch(
      /── prompt of judge-1 ──\n[\s\S]+What is 0 and what is missing to 42\?[\s\S]+── call judge-1 ──/,
    );
    expect(shown.stdout).toMatch(/==== response begins ====\n42\n/);
    expect(shown.stdout).toContain('── call judge-1, discarded: unreadable-verdict ──');
    expect(shown.stdout).toContain('answer forty-two\noutcome scored, score 1');
    expect(shown.stdout).toContain('[unreadable-verdict] expected a verdict');
    expect(byGrade.stdout).toBe(shown.stdout);
  });
});

describe('a group whose judge is blocked', () => {
  it('is cancelled, resumed and deleted like any other', async () => {
    await using judged = await aJudgedFolder({ judge: isOut });
    const group = groupOf(await judged.thrice('run', 'judged.toml'));

    const cancelled = await judged.thrice('cancel', group);
    judged.judge.become(sane);
    const resumed = await judged.thrice('resume', group);
    const outcomes = await judged.outcomes(group);
    const deleted = await judged.thrice('delete', group, '--yes');

    expect([cancelled, resumed, deleted].map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    expect(outcomes).toEqual({ scored: COUNT });
    expect(paidTwice(judged.model)).toEqual([]);
    expect(journaledCalls(judged.folder.resolve('.thrice'), group)).toBe(0);
  });

  it('is complete once others grade its answers, and no work is left of it', async () => {
    await using judged = await aJudgedFolder({ judge: isOut });
    const { folder, thrice } = judged;
    const path = folder.resolve('judged.toml');
    const spec = await readFile(path, 'utf8');
    const text = spec.replace('scorer = "quality"', 'scorer = "includes"');
    await writeFile(folder.resolve('text.toml'), text);
    const group = groupOf(await thrice('run', 'judged.toml'));

    const rescored = await thrice('rescore', group, '--spec', 'text.toml');
    const status = await thrice('status', group);
    const later = groupOf(await thrice('run', 'judged.toml'));
    judged.judge.become(sane);
    await using working = startThrice(['work', '--all'], { cwd: folder.path });
    // The oldest group that has anything left is worked on first.
    await waitWhileRunning('a group is worked on', [working], () =>
      working.stderr.includes(': working\n'),
    );

    expect(rescored.exitCode).toBe(0);
    expect(working.stderr).toContain(`${later}: working\n`);
    expect(status.stdout).toContain(`${group}: complete\n`);
    expect(status.stdout).not.toMatch(/^(blocked|next):/m);
  });
});
