import * as z from 'zod';
import { judgeShape } from '../domain/benchmark-spec.ts';
import { type Grade, scored, ungraded } from '../domain/grade.ts';
import { judgeStep } from '../domain/judge-step.ts';
import type { Question } from '../domain/question.ts';
import type { JudgedScorer } from '../domain/scorer.ts';
import { renderJudgeMessages, UNTRUSTED } from './judge/judge-prompt.ts';
import { type Criterion, criteriaSchema, readRubric } from './rubric/criteria.ts';
import { readScore } from './rubric/read-score.ts';
import { weightedScore } from './rubric/weighted-score.ts';
import { stripReasoning } from './strip-reasoning.ts';

const PROMPT = `Judge by one criterion a response to a question. ${UNTRUSTED}

{{asked}}

{{answer}}

{{criterion}}

Judge by this criterion alone, and by nothing that it does not name.

Reply with these two lines and nothing else:
reasoning: in one sentence, how far the response meets the criterion
score: a number from 0 (not met) to 1 (met in full)`;
const PROMPT_WITH_TARGET = PROMPT.replace('{{criterion}}', '{{target}}\n\n{{criterion}}');

const parameters = z.strictObject({
  ...judgeShape,
  /** What each response is judged by. The question's own rubric if it is left out. */
  criteria: criteriaSchema.optional(),
});
type Parameters = z.infer<typeof parameters>;

/**
 * Asks judges about one criterion after the other. The score is the mean over the criteria by their weights; of several
 * judges, each criterion has their mean. Without all verdicts there is no score.
 */
export const rubric: JudgedScorer<typeof parameters> = {
  kind: 'rubric',
  reads: 'verdicts',
  version: 1,
  parameters,
  needsTable: true,
  isTargetOptional: true,
  promptFields: {
    answer: 'required',
    criterion: 'required',
    target: 'optional',
    rubric: 'optional',
  },
  metricsBy: ({ criteria = [] }) =>
    criteria.map(({ id }) => ({ name: id, unit: 'ratio', better: 'higher', range: [0, 1] })),
  next: ({ question, answer, parameters: asked, judgeCount, verdicts }) => {
    const criteria = criteriaOf(asked, question);
    const judges = Array.from({ length: judgeCount }, (_, index) => index);
    const places = criteria.flatMap((criterion, index) =>
      judges.map((judge) => ({ judge, criterion, step: judgeStep(judge, index) })),
    );
    const missing = places.find(({ step }) => !verdicts.has(step));
    if (missing !== undefined && weightedScore(asMet(criteria)) !== undefined) {
      const { judge, step, criterion } = missing;
      const { system, prompt = question.target === null ? PROMPT : PROMPT_WITH_TARGET } = asked;
      const fields = { criterion: criterion.text };
      const prompting = { system, prompt, question, answer: answer.text, fields };
      return { kind: 'ask', step, judge, messages: renderJudgeMessages(prompting) };
    }
    const scores = criteria.map((_, index) =>
      meanOf(
        judges.map((judge) => {
          const text = verdicts.get(judgeStep(judge, index))?.output.text ?? '';
          return readScore(stripReasoning(text));
        }),
      ),
    );
    return { kind: 'grade', grade: gradeBy(asked, criteria, scores) };
  },
  readVerdict: ({ text }) => (text === null ? undefined : readScore(stripReasoning(text))),
  describeExpectedTarget: () => undefined,
};

/** Those of the spec, or else the question's own. */
function criteriaOf({ criteria }: Parameters, question: Question): readonly Criterion[] {
  return criteria ?? readRubric(question);
}

function asMet(criteria: readonly Criterion[]) {
  return criteria.map(({ weight }) => ({ score: 1, weight }));
}

function meanOf(scores: readonly (number | undefined)[]): number | undefined {
  const known = scores.filter((score) => score !== undefined);
  if (known.length < scores.length || known.length === 0) return undefined;
  return known.reduce((sum, score) => sum + score, 0) / known.length;
}

function gradeBy(
  { criteria: named }: Parameters,
  criteria: readonly Criterion[],
  scores: readonly (number | undefined)[],
): Grade {
  const weighed = criteria.flatMap(({ weight }, index) => {
    const score = scores[index];
    return score === undefined ? [] : [{ score, weight }];
  });
  const metrics =
    named && Object.fromEntries(named.map(({ id }, index) => [id, scores[index] ?? null]));
  const score = weighed.length < criteria.length ? undefined : weightedScore(weighed);
  const reason = weightedScore(asMet(criteria)) === undefined ? 'no-rubric' : 'unreadable-verdict';
  const grade = score === undefined ? ungraded(reason) : scored(score, null);
  return { ...grade, ...(metrics && { metrics }) };
}
