import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { parseGraph } from '../infra/graph.ts';
import { AskedPermissions } from '../support/asked-permissions.ts';
import { openCloud, synthesizeStack } from '../support/cloud.ts';
import { stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const QUESTION_COUNT = 90;
/** Of a group that starts later and ends before: its own limit is higher. */
const LATER_COUNT = 12;
const statusSchema = z.object({
  lanes: z.array(
    z.object({
      limits: z.object({ concurrency: z.object({ limit: z.number(), source: z.string() }) }),
    }),
  ),
});

/** Calls in flight that the vendor takes; the stage has eight functions. */
const LIMIT = 3;

it('keeps max_concurrency in a stage: a vendor that takes no more calls at a time refuses none of two groups', async () => {
  await using simulator = await startSimulator({
    behaviour: { seed: 5, models: { '*': { accuracy: 1, latencyMs: { fixed: 250 } } } },
    faults: { seed: 1, faults: [], rateLimit: { maxConcurrency: LIMIT } },
  });
  const filesOf = (questionCount: number, lane: string) =>
    stageBenchmark({ url: simulator.url, questionCount, lane });
  await using strict = await temporaryFolder(filesOf(QUESTION_COUNT, `max_concurrency = ${LIMIT}`));
  await using lax = await temporaryFolder(filesOf(LATER_COUNT, 'max_concurrency = 6'));
  const stack = await synthesizeStack();
  const asked = new AskedPermissions();
  await using cloud = await openCloud({ stack, intercept: asked.intercept, tickSeconds: 1 });

  const running = thriceIn(cloud, strict.path, 'run', 'benchmark.toml', '--label', 'strict');
  await waitUntil('it has answers', () => simulator.stats().okCount > 0);
  const [later, status] = await Promise.all([
    thriceIn(cloud, lax.path, 'run', 'benchmark.toml', '--label', 'later'),
    thriceIn(cloud, strict.path, 'status', 'strict', '--json'),
  ]);
  const ran = await running;

  expect([later.exitCode, ran.exitCode]).toEqual([0, 0]);
  expect(ran.stderr).not.toContain('max_concurrency');
  expect(statusSchema.parse(JSON.parse(status.stdout)).lanes[0]?.limits.concurrency).toEqual({
    limit: LIMIT,
    source: 'spec',
  });
  const { okCount, maxOpenCount, faultCounts } = simulator.stats();
  expect(okCount).toBe(QUESTION_COUNT + LATER_COUNT);
  expect(faultCounts['rate-limit'] ?? 0).toBe(0);
  expect(maxOpenCount).toBe(LIMIT);
  expect(asked.listUngranted(parseGraph(stack))).toEqual([]);
});
