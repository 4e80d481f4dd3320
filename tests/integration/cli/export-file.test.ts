import { readdir } from 'node:fs/promises';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { anEchoLine, anEchoMeta, linesOf } from '../../support/echo-rows.ts';
import { callThrice, groupOf } from '../../support/run-thrice.ts';
import { smallBenchmark } from '../../support/small-benchmark.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('the file of an export', () => {
  it.each(['missing/x.jsonl', 'folder'])(
    'is refused where it cannot be written: %s',
    async (out) => {
      const file = '20260701T000922Z_bbh_n2.jsonl';
      const sweep = linesOf(anEchoMeta(), anEchoLine());
      await using folder = await temporaryFolder({ [file]: sweep, 'folder/a': '' });
      const cwd = folder.path;
      const imported = await callThrice(['import', 'echo', file], { cwd });

      const argv = ['export', groupOf(imported), '--format', 'echo', '--out', out];
      const { exitCode, stderr } = await callThrice(argv, { cwd });

      expect(exitCode).toBe(64);
      expect(stderr).toContain(
        'thrice: [invalid-argument] --out: expected a file that can be written (',
      );
      expect((await readdir(cwd)).filter((name) => name.endsWith('.part'))).toEqual([]);
    },
  );

  it('is not begun of a run that the format cannot say', async () => {
    await using simulator = await startSimulator();
    await using folder = await temporaryFolder(smallBenchmark({ url: simulator.url }));
    const cwd = folder.path;
    const ran = await callThrice(['run', 'benchmark.toml'], { cwd });

    const argv = ['export', groupOf(ran), '--format', 'echo', '--out', 'x.jsonl'];
    const { exitCode, stderr } = await callThrice(argv, { cwd });

    expect(exitCode).toBe(64);
    expect(stderr).toContain('[unsupported]');
    expect((await readdir(cwd)).filter((name) => name.startsWith('x.jsonl'))).toEqual([]);
  });
});
