import { reconcileGroups } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey } from '../../support/builders.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { checkInterleavings, type Interleaving, Turns } from '../../support/interleavings.ts';
import { Steps } from '../../support/steps.ts';

/** What functions do that others see, or see of others. */
const seen = [
  'ledger.readJournal',
  'ledger.commitCall',
  'batches.findCall',
  'batches.enter',
  'batches.endCalls',
  'batches.removeCalls',
  'batches.remove',
  'queue.receive',
  'queue.send',
  'queue.acknowledge',
];

/** Makes the steps of a function that others see those of its turns. */
function stepsOf(turns: Turns): Steps {
  const steps = new Steps();
  steps.meanwhile = async () => {
    const name = steps.names.at(-1) ?? '';
    if (seen.includes(name)) await turns.step(name);
  };
  return steps;
}

/** A function that takes a task, if there is one. */
async function answer(stage: FakeStage, turns: Turns): Promise<boolean> {
  const steps = stepsOf(turns);
  const queue = steps.watch('queue', stage.queue);
  const [delivery] = await queue.receive('lab', 1);
  if (delivery === undefined) return false;
  const settlement = await stage.answer(delivery, { steps });
  if (settlement.kind === 'resend') await queue.send('lab', [settlement.task]);
  await queue.acknowledge(delivery);
  return true;
}

/** Sends the batch of the cell, as soon as it is there, and reads its results in a round of the reconciler. */
async function reconcile(stage: FakeStage, turns: Turns): Promise<void> {
  const { batches, vendor, clock, batching, ledger } = stage;
  await turns.step('send', () => stage.batches.count > 0);
  const [batch] = await batches.list('demo');
  if (batch?.state === 'gathering') {
    const { callId = '' } = (await batches.findCall(aCellKey(), 'answer')) ?? {};
    vendor.accepted.push({ batchId: batch.batchId, customIds: [callId] });
    const times = { submittedAtMs: clock.now(), polledAtMs: clock.now(), ageMs: 0 };
    const announcement = { owner: 'reconciler', ...times };
    const named = { endpoint: 'http://127.0.0.1:1800/v1', vendorId: 'batch_1' };
    await batches.replace(batch, { ...batch, state: 'accepted', ...announcement, ...named });
  }
  const steps = stepsOf(turns);
  const tools = {
    ...batching,
    batches: steps.watch('batches', batches),
    queue: steps.watch('queue', batching.queue),
    steps: new Map(),
  };
  await reconcileGroups(
    { ...stage, ledger: steps.watch('ledger', ledger), batching: tools },
    () => undefined,
  );
}

/** A stage with one cell that two functions get the task of, while the reconciler reads its batch. */
class Stages {
  /** After how many steps reconcilers have died. */
  deathCount = 0;

  async open(isAnswered: boolean, lifetime: number): Promise<Interleaving> {
    const stage = new FakeStage();
    await stage.enter({ isBatched: true });
    await stage.queue.release(await stage.deliver(), 0);
    if (!isAnswered) stage.vendor.resultOf = (customId) => ({ customId, kind: 'expired' });
    const answering = async (turns: Turns) => void (await answer(stage, turns));
    return {
      workers: {
        answer: answering,
        other: answering,
        reconciler: (turns) => reconcile(stage, turns),
      },
      lifetimes: { reconciler: lifetime },
      check: async (history) => {
        if (history.some((step) => step.startsWith('reconciler dies'))) {
          this.deathCount = lifetime + 1;
          await new Turns('next').run((turns) => reconcile(stage, turns));
        }
        await new Turns('last').run(async (turns) => {
          while (await answer(stage, turns));
        });
        const call = await stage.batches.findCall(aCellKey(), 'answer');
        const open = (await stage.batches.list('demo')).map(({ batchId }) => batchId);
        const name = history.join(', ');
        const { outcome } = stage.cell()?.result ?? {};
        if (isAnswered) expect([outcome, open], name).toEqual(['scored', []]);
        // In the next batch.
        else expect([call?.state, open], name).toEqual(['waiting', [call?.batchId]]);
        expect(stage.vendor.billed, name).toHaveLength(isAnswered ? 1 : 0);
      },
    };
  }
}

describe('the task of a cell in a batch of a stage', () => {
  it.each([
    ['answered', true],
    ['expired', false],
  ])(
    'is there in every order of enter, wait, record and wake, whichever step is the last of the reconciler: %s',
    async (_, isAnswered) => {
      const stages = new Stages();
      let count = 0;

      for (let lifetime = 0; lifetime === stages.deathCount; lifetime += 1)
        count = await checkInterleavings(() => stages.open(isAnswered, lifetime));
      expect(stages.deathCount).toBeGreaterThan(2);
      expect(count).toBeGreaterThan(100);
    },
  );
});
