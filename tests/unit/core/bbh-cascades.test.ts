import type { Config, StepCall } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { extractBbhAnswer } from '../../../packages/core/src/scorers/bbh.ts';
import { readBbhRecordings } from '../../support/bbh-recordings.ts';
import { aCombination, aConfig, aQuestion, aRole } from '../../support/builders.ts';
import { performSteps } from '../../support/perform-steps.ts';
import { hasSharedData } from '../../support/shared-data.ts';

type Agreement = Config['combination']['agreement'];

/** Answers directly and with a chain of thought; a chain of thought of a stronger model decides. */
function cascadeBy(agreement: Agreement): Config {
  const steps = ['member-1', 'member-2', ...(agreement === 'judge' ? ['judge'] : []), 'escalation'];
  return aConfig({
    solver: 'cascade',
    roles: steps.map((step) => aRole({ step, model: step })),
    combination: aCombination({ agreement, scorer: { kind: 'bbh' } }),
    scorer: { kind: 'bbh' },
  });
}

/** What a cascade does with all recorded questions: the first member answers directly, all others with a chain of thought. */
async function countOver(config: Config) {
  const direct = new Map(
    readBbhRecordings('direct').map((each) => [`${each.subtask}/${each.index}`, each.prediction]),
  );
  const counts = { escalated: 0, calls: 0, correct: 0 };
  for (const { subtask, index, target, prediction } of readBbhRecordings('cot')) {
    const id = `${subtask}/${index}`;
    const said = { first: direct.get(id) ?? '', others: prediction };
    const question = aQuestion({ id, target: [target] });
    const { steps, answer } = await performSteps(config, question, (call) => say(call, said));
    counts.calls += steps.length;
    counts.escalated += steps.filter((step) => step === 'escalation').length;
    counts.correct += extractBbhAnswer(answer ?? '') === target ? 1 : 0;
  }
  return counts;
}

function say({ step }: StepCall, said: { readonly first: string; readonly others: string }) {
  const isSame = extractBbhAnswer(said.first) === extractBbhAnswer(said.others);
  if (step === 'judge') return isSame ? 'Yes.' : 'no';
  return step === 'member-1' ? said.first : said.others;
}

describe.runIf(hasSharedData)('cascades over the recorded answers of BIG-Bench Hard', () => {
  it.each([
    { agreement: 'scorer', escalated: 1610, calls: 7984, correct: 2109 },
    { agreement: 'judge', escalated: 1610, calls: 11_171, correct: 2109 },
    { agreement: 'oracle', escalated: 731, calls: 7105, correct: 2456 },
  ] as const)(
    'that agree by $agreement escalate $escalated of 3187 questions',
    async ({ agreement, ...expected }) => {
      expect(await countOver(cascadeBy(agreement))).toEqual(expected);
    },
  );
});
