import { loadGroup, openBudget, ThriceError, toThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { anError } from '../../support/builders.ts';
import { FakeGovernor } from '../../support/fake-governor.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { FakeStage, type StageGroup } from '../../support/fake-stage.ts';
import { Steps } from '../../support/steps.ts';

/** How the work on a task ends while nothing fails. */
interface Ending {
  readonly name: string;
  readonly answer?: FakeAnswer;
  readonly group?: StageGroup;
  /** Whether the lane has done nothing but refuse for long. @default false */
  readonly hasOnlyRefused?: boolean;
}

const priced = { budgetUsd: 10_000, configs: [{ name: 'direct', max_tokens: 200 }] };
const answers = {
  rejected: () => anError('invalid-request'),
  unavailable: () => anError('model-unavailable', { retryAfterMs: 60_000 }),
  limited: () => anError('model-rate-limited'),
  exhausted: () => anError('quota-exhausted'),
} satisfies Record<string, FakeAnswer>;

const endings: readonly Ending[] = [
  { name: 'answered' },
  { name: 'rejected', answer: answers.rejected },
  { name: 'failed', answer: answers.unavailable },
  { name: 'refused', answer: answers.limited },
  { name: 'only refused', answer: answers.limited, hasOnlyRefused: true },
  { name: 'without a quota', answer: answers.exhausted },
  { name: 'answered under a budget', group: priced },
  { name: 'rejected under a budget', answer: answers.rejected, group: priced },
  { name: 'failed under a budget', answer: answers.unavailable, group: priced },
  { name: 'beyond its budget', group: { ...priced, budgetUsd: 1 } },
  { name: 'shared', group: { sharesCalls: true } },
  { name: 'in a batch', group: { isBatched: true } },
];

async function open({ answer, group, hasOnlyRefused = false }: Ending) {
  const stage = new FakeStage(answer);
  const header = await stage.enter(group);
  const { benchmark } = loadGroup({ header, state: 'active', isPlanned: true });
  await openBudget(header, benchmark, stage.budgets);
  const governor = new FakeGovernor();
  governor.hasOnlyRefused = hasOnlyRefused;
  return { stage, governor, delivery: await stage.deliver() };
}

/** Has the task answered while a step fails, and each that follows too, with another error, if the worker has crashed. */
async function answerFailing(ending: Ending, at: number, crashesProcess: boolean) {
  const { stage, governor, delivery } = await open(ending);
  const codes = ['store-unusable' as const];
  const steps = new Steps({ at, takesEffect: false, crashesProcess }, () =>
    anError(codes.pop() ?? 'store-unavailable'),
  );
  const thrown: unknown = await stage.answer(delivery, { steps, governor }).catch(toThriceError);
  return {
    code: thrown instanceof ThriceError ? thrown.code : thrown,
    permits: governor.inUseCount,
    state: stage.cell()?.state,
  };
}

describe('a task whose cell is', () => {
  it.each(endings)(
    '$name tells the first error and keeps no permit, whichever step fails',
    async (ending) => {
      const untroubled = new Steps();
      const { stage, governor, delivery } = await open(ending);
      await stage.answer(delivery, { steps: untroubled, governor });
      const outcomes: unknown[] = [];

      for (const [at, step] of untroubled.names.entries()) {
        // What a call fails with is no failure of the work.
        if (step === 'models.send') continue;
        const { state, ...alone } = await answerFailing(ending, at, false);
        const { state: _, ...crashed } = await answerFailing(ending, at, true);
        // Else the cell would wait for the end of its lease, which counts as an attempt.
        const isKept = state === 'claimed' && step !== 'ledger.releaseCell';
        outcomes.push({ step, alone: { ...alone, isKept }, crashed });
      }

      const told = { code: 'store-unusable', permits: 0 };
      const steps = untroubled.names.filter((step) => step !== 'models.send');
      expect(outcomes).toEqual(
        steps.map((step) => ({ step, alone: { ...told, isKept: false }, crashed: told })),
      );
      expect(governor.inUseCount).toBe(0);
    },
  );
});
