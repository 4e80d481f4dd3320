import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { additions, patchyKnowledge, toJsonl } from '../support/additions.ts';
import { countOutcomes, readCellRows } from '../support/cell-rows.ts';
import { workerCount } from '../support/ledger-view.ts';
import { groupOf, printedGroup, runThrice, startThrice } from '../support/run-thrice.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitWhileRunning } from '../support/wait-until.ts';

const QUESTION_COUNT = 120;
const questions = additions(QUESTION_COUNT);
/** Of the provider, which has no patience: what is used above it in a second is refused. */
const limits = { requestsPerMinute: 900, tokensPerMinute: 60_000, maxConcurrency: 8 } as const;

it('keeps the limits of a lane in two processes of which one is killed, and buys nothing twice but what was in flight', async () => {
  await using model = await startSimulator({
    behaviour: {
      seed: 3,
      models: { m: { accuracy: 1, latencyMs: { fixed: 400 }, outputTokens: { fixed: 40 } } },
    },
    questions: patchyKnowledge(questions),
    faults: { seed: 1, faults: [], rateLimit: { ...limits, burstSeconds: 1 } },
  });
  const { requestsPerMinute: rpm, tokensPerMinute: tpm, maxConcurrency } = limits;
  const lab = { base_url: model.url, rpm, tpm, max_concurrency: maxConcurrency };
  const spec = {
    questions: 'questions.jsonl',
    parallel: 32,
    lanes: { lab },
    configs: [{ name: 'a', model: 'lab/m', max_tokens: 60 }],
  };
  await using folder = await temporaryFolder({
    'b.json': JSON.stringify(spec),
    'questions.jsonl': toJsonl(questions),
  });
  const cwd = folder.path;

  await using first = startThrice(['run', 'b.json'], { cwd });
  await first.prints(printedGroup);
  const group = groupOf(first);
  await using second = startThrice(['work', group], { cwd });
  await waitWhileRunning('both are at work', [first, second], () => {
    return workerCount(folder.resolve('.thrice')) === 2 && model.stats().okCount > 40;
  });
  first.child.kill('SIGKILL');
  const ended = await endOf(second);
  const verified = await runThrice(['verify', group], { cwd });

  expect([ended.exitCode, verified.exitCode]).toEqual([0, 0]);
  expect(countOutcomes(await readCellRows(folder.resolve('.thrice'), group, 'a'))).toEqual({
    scored: QUESTION_COUNT,
  });
  const { maxOpenCount, requestsByQuestion, faultCounts, okCount } = model.stats();
  expect(maxOpenCount).toBeLessThanOrEqual(maxConcurrency);
  expect(requestsByQuestion.size).toBe(QUESTION_COUNT);
  expect(okCount).toBeLessThanOrEqual(QUESTION_COUNT + maxConcurrency);
  // Two processes that did not know of each other would be refused every second call.
  expect(faultCounts['rate-limit'] ?? 0).toBeLessThan(QUESTION_COUNT / 20);
});
