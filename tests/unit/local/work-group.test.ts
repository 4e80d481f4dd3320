import type { WorkerEvent } from '@thrice/core';
import { checkQuestions, type ModelClient, openQuestions, planGroup } from '@thrice/core';
import {
  createNodeDigest,
  fileSourceReader,
  LocalEngine,
  SlotGovernor,
  workGroup,
} from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../../support/additions.ts';
import { aBenchmark, aModelResponse } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aDraft } from '../../support/fake-engine.ts';
import { FakeModelClient } from '../../support/fake-model-client.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const never = new AbortController().signal;

/** A governor with a bug: it forgets waiters until an external call makes it check again. */
class ForgetfulGovernor extends SlotGovernor {
  #isForgetful = true;

  protected override grantWaiting(): void {
    if (!this.#isForgetful) super.grantWaiting();
  }

  override recover(): void {
    this.#isForgetful = false;
    super.recover();
  }
}

describe('workGroup', () => {
  it('reports it and continues when a bug stops all progress although there is work', async () => {
    await using folder = await temporaryFolder({ 'q.jsonl': toJsonl(additions(5)) });
    const clock = new FakeClock();
    using engine = new LocalEngine(folder.path, clock);
    const benchmark = aBenchmark({ parallel: 2 });
    const source = openQuestions('q.jsonl', (path) => folder.resolve(path), fileSourceReader);
    const checked = await checkQuestions(source, undefined, benchmark.configs, createNodeDigest);
    const { ledger, blobs } = engine;
    const header = await planGroup(
      { benchmark, draft: aDraft(), source, checked, skipped: new Map(), clock, random: () => 0 },
      { ledger, blobs, queueOf: (group) => engine.queueOf(group) },
    );
    const events: WorkerEvent[] = [];
    const models: ModelClient = new FakeModelClient(() => aModelResponse());
    let isOver = false;

    const work = workGroup({
      engine,
      header,
      benchmark,
      clientFor: () => models,
      random: () => 0,
      governor: new ForgetfulGovernor({
        clock,
        total: 2,
        perLane: new Map([['lab', 2]]),
        random: () => 0,
      }),
      observe: (event) => events.push(event),
      scope: { runs: header.runs, configs: ['direct'] },
      waitForQuota: false,
      drainSignal: never,
      stopSignal: never,
    }).finally(() => {
      isOver = true;
    });
    for (let tick = 0; tick < 2_000 && !isOver; tick += 1) {
      await new Promise((resolve) => {
        setTimeout(resolve, 1);
      });
      clock.advance(100);
    }
    const ending = await work;

    expect(ending).toEqual({ kind: 'complete' });
    expect(events.filter(({ kind }) => kind === 'stalled')).toEqual([
      { kind: 'stalled', cellCount: 3, forMs: 30_000 },
    ]);
    expect(events.filter(({ kind }) => kind === 'cell-completed')).toHaveLength(5);
  });
});
