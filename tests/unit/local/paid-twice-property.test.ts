import { type Benchmark, type GroupHeader, ThriceError } from '@thrice/core';
import { LocalEngine, readUnrecorded, workGroup } from '@thrice/local';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJsonl } from '../../support/additions.ts';
import {
  aBenchmark,
  aConfig,
  aGroupHeader,
  aLane,
  aModelResponse,
  anError,
  aRole,
} from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeModelClient } from '../../support/fake-model-client.ts';
import { seededDraw } from '../../support/kill-tracker.ts';
import { aPlanIn, workGroupOptions } from '../../support/local-work.ts';
import { type Death, MortalEngine } from '../../support/mortal-engine.ts';
import { journaledCalls, toldCalls } from '../../support/paid-calls.ts';
import { passTime } from '../../support/pass-time.ts';
import { planGroup } from '../../support/plan-group.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const QUESTION_COUNT = 12;
const questions = Array.from({ length: QUESTION_COUNT }, (_, index) => ({
  id: `q${index}`,
  question: `x${index}`,
  target: '42',
}));

/** How a process ends that works on one of the groups. */
interface Process {
  readonly group: number;
  readonly death: Death | undefined;
  /** Calls after which Ctrl-C is pressed twice; undefined for never. */
  readonly stopAfter: number | undefined;
}

const process: fc.Arbitrary<Process> = fc.record({
  group: fc.nat(1),
  death: fc.option(
    fc.record({ afterCalls: fc.integer({ min: 5, max: 90 }), isLastCallStored: fc.boolean() }),
    { nil: undefined },
  ),
  stopAfter: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
});
/** What happens in a folder: processes at the same time, one lot after the other, and who takes over in between. */
const history = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
  lots: fc.array(
    fc.record({
      processes: fc.array(process, { minLength: 1, maxLength: 3 }),
      isTakenOverByAnother: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

/** Two steps for each cell, so that what was recorded of it is not in flight. */
function benchmarkOf(): Benchmark {
  const ask = { lane: 'lab', model: 'm' };
  const steps = ['member-1', 'member-2'].map((step) => aRole({ ...ask, step, system: 'two' }));
  return aBenchmark({
    parallel: 4,
    maxAttempts: 20,
    lanes: new Map([['lab', aLane()]]),
    configs: [aConfig({ name: 'one' }), aConfig({ name: 'two', solver: 'vote', roles: steps })],
  });
}

describe('what a vendor bills', () => {
  it('is what the journal has and the calls that are said to be possibly paid twice, whoever died or was stopped', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        const figures = await live(drawn);

        for (const { billed, journaled, told } of figures) expect(billed).toBe(journaled + told);
      }),
      { numRuns: 6 },
    );
  }, 120_000);
});

/** What was billed for a group, is in its journal, and is said to be possibly paid twice. */
interface Figures {
  readonly billed: number;
  readonly journaled: number;
  readonly told: number;
}

/** Lives through a history, resumes both groups, and counts. */
async function live({ seed, lots }: typeof history extends fc.Arbitrary<infer T> ? T : never) {
  const clock = new FakeClock();
  const random = seededDraw(seed);
  const benchmark = benchmarkOf();
  await using folder = await temporaryFolder({ 'q.jsonl': toJsonl(questions) });
  using planner = new LocalEngine(folder.path, clock);
  const headers: GroupHeader[] = [];
  for (const _ of [0, 1])
    headers.push(await planGroup(await aPlanIn(folder, { benchmark, clock, random }), planner));
  const billed = new Map<string, number>();

  const start = ({ group, death, stopAfter }: Process) => {
    const header = headers[group] ?? aGroupHeader();
    const real = new LocalEngine(folder.path, clock);
    const mortal = new MortalEngine(real, death);
    const stopping = new AbortController();
    let sentCount = 0;
    const bill = async () => {
      await clock.sleep(Math.floor(random() * 500));
      if (random() < 0.1) return anError('model-unavailable', { status: 503 });
      billed.set(header.group, (billed.get(header.group) ?? 0) + 1);
      await clock.sleep(Math.floor(random() * 500));
      return aModelResponse();
    };
    const models = new FakeModelClient(async (_request, signal) => {
      sentCount += 1;
      if (sentCount === stopAfter) stopping.abort();
      const answer = await bill();
      if (answer instanceof Error) return answer;
      if (mortal.isDead) return await new Promise<never>(() => undefined);
      if (!signal.aborted) return answer;
      return new ThriceError({ code: 'interrupted', message: 'stopped' });
    });
    const signals = { drainSignal: stopping.signal, stopSignal: stopping.signal };
    const { engine } = mortal;
    const options = { engine, header, benchmark, clientFor: () => models, random, ...signals };
    const work = workGroup(workGroupOptions(options));
    return { real, end: Promise.race([work, mortal.died]) as Promise<unknown> };
  };
  const endWith = async (processes: readonly Process[]) => {
    const workers = processes.map(start);
    await passTime(workers, clock);
    // What a dead process has still in memory is written at once, or never.
    for (const { real } of workers) real[Symbol.dispose]();
  };
  for (const { processes, isTakenOverByAnother } of lots) {
    await endWith(processes);
    if (isTakenOverByAnother) await planner.workers.takeOver();
  }
  for (const group of [0, 1]) await endWith([{ group, death: undefined, stopAfter: undefined }]);
  return headers.map(({ group }): Figures => {
    const told = toldCalls(folder.path, group);
    expect(told).toEqual(readUnrecorded(group, planner));
    const journaled = journaledCalls(folder.path, group);
    return { billed: billed.get(group) ?? 0, journaled, told: told.length };
  });
}
