import { describe, expect, it } from 'vitest';
import { LaneProgress } from '../../../packages/cli/src/stage/lane-progress.ts';
import { aCellKey, aCellResult, aFailedResult, anError } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { fakeTerminal } from '../../support/run-thrice.ts';

const key = aCellKey();

function openProgress(own: Parameters<typeof fakeTerminal>[0] = {}) {
  const terminal = fakeTerminal(own);
  const clock = new FakeClock();
  const progress = new LaneProgress('lab', terminal);
  const reporting = progress.reportEachMinute({ clock });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  const end = async () => {
    progress.end();
    await reporting;
  };
  const complete = (result = aCellResult()) =>
    progress.observe({ kind: 'cell-completed', key, result, tally: undefined });
  return { terminal, progress, pass, end, complete };
}

describe('the progress of the work on a lane of a stage', () => {
  it('is told each minute in which a cell was completed, and once at the end', async () => {
    const { terminal, complete, pass, end } = openProgress();

    complete();
    await pass(60_000);
    await pass(60_000);
    complete(aFailedResult());
    await end();

    expect(terminal.stderr).toBe(
      'lab: 1 cell completed\nlab: 2 cells completed, 1 of them failed\n',
    );
  });

  it('tells a kind of failure once a minute', async () => {
    const { terminal, progress, pass, end } = openProgress();

    progress.fail(anError('store-unavailable'));
    progress.fail(anError('store-unavailable'));
    await pass(60_000);
    progress.fail(anError('store-unavailable'));
    await end();

    expect(terminal.stderr.split('store-unavailable]')).toHaveLength(3);
  });

  it('tells how many paid answers were lost', async () => {
    const { terminal, progress, end } = openProgress();

    progress.observe({ kind: 'call-lost', key, error: anError('store-unusable') });
    await end();

    expect(terminal.stderr).toContain(
      'lab: the answers of 1 call could not be saved and are lost; these calls are made and paid again\n',
    );
  });

  it('breaks no word on a narrow terminal', async () => {
    const { terminal, progress, end } = openProgress({ isInteractive: true, columns: 60 });

    progress.observe({ kind: 'call-lost', key, error: anError('store-unusable') });
    await end();

    expect(terminal.stderr).toContain('are lost;\n  these calls are made');
  });
});
