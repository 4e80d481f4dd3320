import { startSimulator } from '@thrice/simulator';
import { expect, it } from 'vitest';
import { callThrice, groupOf } from '../../support/run-thrice.ts';
import { smallBenchmark } from '../../support/small-benchmark.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it('goes on without a cap once that is lifted, also if the spec names one', async () => {
  await using simulator = await startSimulator();
  // A dollar per token: a call of five tokens, and the worst case of one more.
  const prices = 'max_tokens = 10\n[prices."lab/a"]\ninput = 1\noutput = 1_000_000';
  const files = smallBenchmark({ url: simulator.url, top: 'budget_usd = 14', more: prices });
  await using folder = await temporaryFolder(files);
  const at = { cwd: folder.path };

  const ran = await callThrice(['run', 'benchmark.toml'], at);
  const group = groupOf(ran);
  const lifted = await callThrice(['resume', group, '--budget-usd', 'none'], at);
  const again = await callThrice(['resume', group], at);
  const without = await callThrice(['run', 'benchmark.toml', '--budget-usd', 'none'], at);

  expect([ran, lifted, again, without].map(({ exitCode }) => exitCode)).toEqual([3, 0, 0, 0]);
  expect(ran.stderr).toContain('; raise it, or lift it with --budget-usd none\n');
  expect(lifted.stderr).toContain('edited: budget_usd: was 14, is nothing\n');
  expect(simulator.stats().okCount).toBe(8);
});

it('ends with the code of the budget where another lane is blocked as well, and names both', async () => {
  await using simulator = await startSimulator({
    faults: { seed: 1, faults: [{ kind: 'quota', model: 'b' }] },
  });
  // A dollar per token: a call of five tokens, and the worst case of one more.
  const files = smallBenchmark({
    url: simulator.url,
    lane: 'budget_usd = 14',
    more: `max_tokens = 10
[prices."lab/a"]
input = 1
output = 1_000_000
[lanes.spare]
base_url = "${simulator.url}"
[[configs]]
name = "b"
model = "spare/b"
max_tokens = 10
scorer = "includes"
[prices."spare/b"]
input = 1
output = 1_000_000`,
  });
  await using folder = await temporaryFolder(files);
  const at = { cwd: folder.path };

  const ran = await callThrice(['run', 'benchmark.toml'], at);
  const group = groupOf(ran);
  const shown = await callThrice(['status', group, '--json'], at);
  const lifted = await callThrice(['resume', group, '--budget-usd', 'none'], at);

  expect(ran.exitCode).toBe(3);
  expect(ran.stderr).toContain('paused: the budget of $14.0000 for lane lab is reached');
  expect(ran.stderr).toMatch(/^paused: .*spare/m);
  const next = `next: thrice resume ${group} --spec ${folder.resolve('benchmark.toml')}`;
  expect(ran.stderr.trimEnd().split('\n').at(-1)).toBe(next);
  expect(JSON.parse(shown.stdout)).toMatchObject({ state: 'paused at budget' });
  expect(lifted.stderr).toContain(`the budget of ${group} is that already`);
  expect(lifted.exitCode).toBe(3);
});
