import * as z from 'zod';
import { judgeShape } from '../domain/benchmark-spec.ts';
import { type Grade, scored, ungraded } from '../domain/grade.ts';
import { judgeStep } from '../domain/judge-step.ts';
import type { JudgedScorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';
import { hleForm } from './judge/hle-form.ts';
import { type JudgeForm, majorityOf } from './judge/judge-form.ts';
import { renderJudgeMessages } from './judge/judge-prompt.ts';
import { toolOrchestraForm } from './judge/toolorchestra-form.ts';

const FORMS = { hle: hleForm, toolorchestra: toolOrchestraForm } as const;

const parameters = z.strictObject({
  ...judgeShape,
  /** How the verdict is asked for and read. `hle` if it is left out. */
  form: z.enum(['hle', 'toolorchestra']).optional(),
});
type Parameters = z.infer<typeof parameters>;

/** Asks judges whether the answer says what the target says. The majority of several decides; a tie leaves it ungraded. */
export const judge: JudgedScorer<typeof parameters> = {
  kind: 'judge',
  reads: 'verdicts',
  version: 1,
  parameters,
  needsTable: true,
  metricsBy: (asked) => formOf(asked).metrics?.declared ?? [],
  promptFields: { answer: 'required', target: 'optional', rubric: 'optional' },
  next: ({ question, answer, parameters: asked, judgeCount, verdicts }) => {
    const form = formOf(asked);
    const response = form.readResponse(answer.text);
    const unasked = form.gradeUnasked(response, question);
    if (unasked !== undefined) return { kind: 'grade', grade: unasked };
    const steps = Array.from({ length: judgeCount }, (_, index) => judgeStep(index));
    const missing = steps.findIndex((step) => !verdicts.has(step));
    const step = steps[missing];
    if (step === undefined) {
      const replies = steps.map((each) => verdicts.get(each)?.output.text ?? '');
      return { kind: 'grade', grade: gradeBy(form, response, replies) };
    }
    const { system, prompt = form.prompt } = asked;
    const { place } = form;
    const prompting = { system, prompt, question, answer: response, ...(place && { place }) };
    return { kind: 'ask', step, judge: missing, messages: renderJudgeMessages(prompting) };
  },
  readVerdict: ({ text }, asked) => {
    const verdict = text === null ? undefined : formOf(asked).readReply(text, '');
    return verdict && Number(verdict.isCorrect);
  },
  describeExpectedTarget: describeEmptyTarget,
};

function formOf({ form = 'hle' }: Parameters): JudgeForm {
  return FORMS[form];
}

/** The grade by the replies of all judges. */
function gradeBy(form: JudgeForm, response: string, replies: readonly string[]): Grade {
  const said = replies.flatMap((reply) => form.readReply(reply, response) ?? []);
  if (said.length < replies.length) return ungraded('unreadable-verdict');
  const isCorrect = majorityOf(said.map((verdict) => verdict.isCorrect));
  const first = said.find((verdict) => verdict.isCorrect === isCorrect);
  const grade =
    isCorrect === undefined
      ? ungraded('tied-judges')
      : scored(Number(isCorrect), first?.extracted ?? null);
  const { confidence } = first ?? {};
  return {
    ...grade,
    ...(confidence !== undefined && { confidence }),
    ...(form.metrics && { metrics: form.metrics.of(replies, isCorrect) }),
  };
}
