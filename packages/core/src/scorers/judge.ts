import * as z from 'zod';
import { judgeShape } from '../domain/benchmark-spec.ts';
import { scored, ungraded } from '../domain/grade.ts';
import type { JudgedScorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';
import { renderJudgeMessages } from './judge/judge-prompt.ts';
import { readVerdict } from './judge/read-verdict.ts';
import { stripReasoning } from './strip-reasoning.ts';

const parameters = z.strictObject(judgeShape);

/**
 * Asks judges whether the answer says what the target says. The majority of several decides; a tie leaves it ungraded.
 *
 * The form of the verdict is that of Humanity's Last Exam: the answer found, the reasoning, yes or no, the confidence.
 *
 * @see https://github.com/centerforaisafety/hle (hle_eval/run_judge_results.py)
 */
export const judge: JudgedScorer<typeof parameters> = {
  kind: 'judge',
  reads: 'verdicts',
  version: 1,
  parameters,
  needsTable: true,
  next: ({ question, answer, parameters: { system, prompt }, judgeCount, verdicts }) => {
    const steps = Array.from({ length: judgeCount }, (_, index) => `judge-${index + 1}`);
    const missing = steps.findIndex((step) => !verdicts.has(step));
    const step = steps[missing];
    if (step !== undefined) {
      const asked = {
        ...(system !== undefined && { system }),
        ...(prompt !== undefined && { prompt }),
      };
      const messages = renderJudgeMessages(asked, question, answer.text);
      return { kind: 'ask', step, judge: missing, messages };
    }
    const said = steps.flatMap((each) => {
      const text = verdicts.get(each)?.output.text ?? '';
      return readVerdict(stripReasoning(text)) ?? [];
    });
    const yes = said.filter(({ isCorrect }) => isCorrect);
    const no = said.filter(({ isCorrect }) => !isCorrect);
    if (said.length < judgeCount) return { kind: 'grade', grade: ungraded('unreadable-verdict') };
    if (yes.length === no.length) return { kind: 'grade', grade: ungraded('tied-judges') };
    const [first] = yes.length > no.length ? yes : no;
    return {
      kind: 'grade',
      grade: scored(yes.length > no.length ? 1 : 0, first?.extracted ?? null),
    };
  },
  isVerdict: ({ text }) => text !== null && readVerdict(stripReasoning(text)) !== undefined,
  describeExpectedTarget: describeEmptyTarget,
};
