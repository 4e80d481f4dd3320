import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { openCloud, shortLimitsCommand } from '../support/cloud.ts';
import { groupOf, startThrice } from '../support/run-thrice.ts';
import { stageBenchmark, thriceIn } from '../support/stage.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitUntil } from '../support/wait-until.ts';

const QUESTION_COUNT = 24;

it('work --stage --lane answers the cells of a lane without functions on this machine, with a key that only it has', async () => {
  await using simulator = await startSimulator({
    behaviour: { seed: 5, models: { '*': { accuracy: 1, latencyMs: { fixed: 200 } } } },
  });
  const lane = 'api_key_env = "OWN_KEY"\nmax_concurrency = 4';
  await using folder = await temporaryFolder(
    stageBenchmark({ url: simulator.url, questionCount: QUESTION_COUNT, lane }),
  );
  const changes = {
    queues: { LaneSim: { maximumConcurrency: 0 } },
    keys: { sim: { variable: 'OWN_KEY', origins: [new URL(simulator.url).origin] } },
  };
  await using cloud = await openCloud({ changes, tickSeconds: 1 });
  const work = (variables: Readonly<Record<string, string>>) =>
    startThrice(['work', '--stage', 'local', '--lane', 'sim'], {
      cwd: folder.path,
      bin: shortLimitsCommand,
      environment: { ...cloud.variables, ...variables },
    });
  const started = await thriceIn(
    cloud,
    folder.path,
    ...['run', 'benchmark.toml', '--detach', '--label', 'own'],
  );
  const group = groupOf(started);

  await using keyless = work({});
  const refused = await endOf(keyless);
  await using first = work({ OWN_KEY: 'key' });
  await using second = work({ OWN_KEY: 'key' });
  await waitUntil('it has answers', () => simulator.stats().okCount > 4);
  // Its cells are leased, and taken over.
  first.child.kill('SIGKILL');
  const followed = await thriceIn(cloud, folder.path, 'resume', group, '--json');
  second.child.kill('SIGINT');
  const stopped = await endOf(second);

  expect([started.exitCode, refused.exitCode]).toEqual([0, 69]);
  expect(refused.stderr).toContain('expected its key in OWN_KEY, which is not set');
  expect([followed.exitCode, stopped.exitCode]).toEqual([0, 130]);
  expect(stopped.stderr).toMatch(/sim: \d+ cells completed\n/);
  const { okCount, maxOpenCount } = simulator.stats();
  // A call of the killed process may have been answered and not recorded.
  expect(okCount).toBeGreaterThanOrEqual(QUESTION_COUNT);
  expect(okCount).toBeLessThanOrEqual(QUESTION_COUNT + 4);
  expect(maxOpenCount).toBeLessThanOrEqual(4);
});
