import { writeFile } from 'node:fs/promises';
import { type Faults, loadRecordings, startSimulator } from '@thrice/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import { everythingTwice } from '../support/aws-faults.ts';
import { bbhFolder, bbhToml, readBbhExpectation } from '../support/bbh-benchmark.ts';
import { countOutcomes } from '../support/cell-rows.ts';
import { openCloud } from '../support/cloud.ts';
import { figuresOf } from '../support/run-figures.ts';
import { callThrice, groupOf } from '../support/run-thrice.ts';
import { hasSharedData } from '../support/shared-data.ts';
import { recordedTokens } from '../support/spend.ts';
import { listMessages, pullRows, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Questions per subtask: `tests/long` asks all of them. */
const PER_SUBTASK = 1;

/** Every fault that a provider can cause, limited so that no cell uses up its attempts. */
const mixedFaults: Faults = {
  seed: 20261120,
  faults: [
    { kind: 'usage-limit', requests: [10, 12], resetSeconds: 2 },
    { kind: 'usage-limit', requests: [30, 32], resetSeconds: 2 },
    { kind: 'rate-limit', rate: 0.08, retryAfterSeconds: 1, maxPerQuestion: 1 },
    { kind: 'overloaded', rate: 0.08, maxPerQuestion: 1 },
    { kind: 'hang', rate: 0.05, maxPerQuestion: 1 },
    { kind: 'reset', rate: 0.08, afterBytes: 40, maxPerQuestion: 1 },
  ],
};

describe.runIf(hasSharedData)('acceptance of the sweeps in a stage', () => {
  let cot: readonly string[];
  beforeAll(async () => {
    cot = (await readBbhExpectation()).recorded.cot;
  });

  /** A spec of the recorded prompts, some of each subtask, on the lane that needs no key in a stage. */
  function stageToml(url: string, top = ''): string {
    const select = `[select]\nper_tag = { tag = "subtask", limit = ${PER_SUBTASK} }\n`;
    return bbhToml(url, cot, `${top}\n${select}`).replaceAll('codex', 'sim');
  }

  it('completes despite every fault and duplicate messages, with the figures of the local engine', async () => {
    const recordings = await loadRecordings(bbhFolder);
    await using sound = await startSimulator({ recordings });
    await using faulty = await startSimulator({ recordings, faults: mixedFaults });
    const settings = 'max_attempts = 8\ntimeout_s = 3';
    await using folder = await temporaryFolder({
      'here.toml': stageToml(sound.url),
      'stage.toml': stageToml(faulty.url, settings),
    });
    await using cloud = await openCloud({ intercept: everythingTwice, tickSeconds: 1 });
    const cwd = folder.path;

    const here = await callThrice(['run', 'here.toml'], { cwd });
    const ran = await thriceIn(cloud, cwd, 'run', 'stage.toml', '--wait-for-quota');
    const group = groupOf(ran);
    const callCount = faulty.stats().requestCount;
    const again = await thriceIn(cloud, cwd, 'resume', group);
    const figures = await figuresOf(thriceIn(cloud, cwd, 'summarize', group, '--json'));
    const expected = await figuresOf(callThrice(['summarize', groupOf(here), '--json'], { cwd }));
    const verified = await thriceIn(cloud, cwd, 'verify', group);

    expect([here.exitCode, ran.exitCode, again.exitCode, verified.exitCode]).toEqual([0, 0, 0, 0]);
    expect(figures).toEqual(expected);
    expect(figures).toMatchObject([
      { figures: { questions: 27 * PER_SUBTASK, coverage: 1 } },
      { figures: { questions: 13 * PER_SUBTASK, coverage: 1 } },
    ]);
    const answers = [...faulty.stats().requestsByQuestion.values()].map(({ ok }) => ok);
    expect(answers).toEqual(Array.from({ length: 40 * PER_SUBTASK }, () => 1));
    expect(faulty.stats().requestCount).toBe(callCount);
    const rows = [
      ...(await pullRows(cloud, cwd, group, 'direct')),
      ...(await pullRows(cloud, cwd, group, 'cot')),
    ];
    expect(recordedTokens(rows)).toEqual(faulty.stats().billed);
    expect(await listMessages(cloud, cwd)).toEqual({ cells: [], unreadable: 0 });
  });

  it('finishes one lane while the other is exhausted, and the other once it is repaired', async () => {
    const count = 20;
    const recordings = await loadRecordings(bbhFolder);
    await using resources = new AsyncDisposableStack();
    const sound = resources.use(await startSimulator({ recordings }));
    const faults: Faults = { seed: 1, faults: [{ kind: 'quota', requests: [11] }] };
    const broken = resources.use(await startSimulator({ recordings, faults }));
    await using folder = await temporaryFolder();
    const spec = bbhToml(sound.url, ['boolean_expressions'])
      .replaceAll('codex', 'sim')
      .replace('[[configs]]', `[lanes.mistral]\nbase_url = "${broken.url}"\n\n[[configs]]`)
      .replace(/model = "sim(.*"\nprompt = "{{metadata.cot)/, 'model = "mistral$1');
    await writeFile(folder.resolve('bbh.toml'), spec);
    await using cloud = await openCloud({ tickSeconds: 1 });
    const cwd = folder.path;

    const paused = await thriceIn(cloud, cwd, 'run', 'bbh.toml', '--limit', String(count));
    const group = groupOf(paused);
    const direct = countOutcomes(await pullRows(cloud, cwd, group, 'direct'));
    const chained = countOutcomes(await pullRows(cloud, cwd, group, 'cot'));
    const messages = await listMessages(cloud, cwd);
    const brokenAnswers = broken.stats().okCount;
    const port = Number(new URL(broken.url).port);
    await broken.close();
    await using repaired = await startSimulator({ recordings, port });
    const resumed = await thriceIn(cloud, cwd, 'resume', group);

    expect(paused.exitCode).toBe(2);
    expect(paused.stderr).toContain(`next: thrice resume ${group} --stage local\n`);
    expect(direct).toEqual({ scored: count });
    expect(chained).toEqual({ scored: brokenAnswers, 'not-attempted': count - brokenAnswers });
    expect(messages).toEqual({ cells: [], unreadable: 0 });
    expect(resumed.exitCode).toBe(0);
    expect(repaired.stats().okCount).toBe(count - brokenAnswers);
  });
});
