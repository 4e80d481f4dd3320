import type { Config } from '../../domain/benchmark.ts';
import type { Question } from '../../domain/question.ts';
import type { ScorerSpec } from '../../domain/scorer.ts';
import { showValue } from '../describe-issues.ts';

/** So many questions without a usable target, and none with one, share one cause. */
const MIN_SHARED = 3;
const REMEDY =
  'if the file is a copy of a dataset, write it as one, as in questions = { dataset = "gsm8k", path = "..." }; if not, say in [columns] which column holds the target, or choose another scorer';

/**
 * Says what a scorer expects of a target that it cannot use, as in "a single letter"; undefined for a
 * usable target.
 */
export type DescribeExpectedTarget = (
  scorer: ScorerSpec,
  target: string,
  question: Question,
) => string | undefined;

/** Says why every answer to a question would be ungraded, as in `no-target`; undefined for one that can be graded. */
type FindUngradedReason = (scorer: ScorerSpec, question: Question) => string | undefined;

/** What scorers say of questions. */
export interface ScorerChecks {
  readonly describeExpectedTarget: DescribeExpectedTarget;
  /** What a question lacks for the judges of a scorer; undefined if it lacks nothing. */
  readonly describeUngradable: (scorer: ScorerSpec, question: Question) => string | undefined;
  readonly findUngradedReason: FindUngradedReason;
}

/** The targets of one config's questions. */
export interface TargetCheck {
  /** Checks the targets of one more question; returns how many problems it has. */
  readonly add: (question: Question) => number;
  /** Why no answer would be graded; undefined if one would be. */
  readonly ungradedReason: () => string | undefined;
  /** One line per problem; a single one if no question at all has a usable target. */
  readonly problems: () => readonly string[];
}

/** Looks for targets that would give wrong scores without an error: every answer matches, or none can. */
export function createTargetCheck(
  { name, scorer }: Config,
  { describeExpectedTarget, findUngradedReason }: ScorerChecks,
): TargetCheck {
  const problems: string[] = [];
  let ungradedReason: string | undefined;
  let isGraded = false;
  let targetCount = 0;
  let unusableCount = 0;
  return {
    add: (question) => {
      const found = listProblems(scorer, question, describeExpectedTarget);
      problems.push(...found.map((problem) => `config "${name}": ${problem}`));
      if (question.target !== null) targetCount += 1;
      const ungraded = isGraded ? undefined : findUngradedReason(scorer, question);
      isGraded ||= ungraded === undefined;
      ungradedReason ??= ungraded;
      if (found.length > 0) unusableCount += 1;
      return found.length;
    },
    ungradedReason: () => (isGraded ? undefined : ungradedReason),
    problems: () => {
      const [first] = problems;
      const isShared = unusableCount >= MIN_SHARED && unusableCount === targetCount;
      if (first === undefined || !isShared) return problems;
      return [`${first}, and no better one in ${unusableCount} questions; ${REMEDY}`];
    },
  };
}

function listProblems(
  scorer: ScorerSpec,
  question: Question,
  describeExpectedTarget: DescribeExpectedTarget,
): readonly string[] {
  const targets = question.target ?? [];
  return targets.flatMap((target, index) => {
    const expected = describeExpectedTarget(scorer, target, question);
    if (expected === undefined) return [];
    const place = targets.length === 1 ? 'target' : `target[${index}]`;
    return [
      `question "${question.id}": ${place}: expected ${expected}, received ${showValue(target)}`,
    ];
  });
}
