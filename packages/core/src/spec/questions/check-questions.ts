import type { Config } from '../../domain/benchmark.ts';
import type { Select } from '../../domain/benchmark-spec.ts';
import type { PromptSizes } from '../../domain/prompt-sizes.ts';
import type { Question } from '../../domain/question.ts';
import type { CreateDigest } from '../../ports/digest.ts';
import { ConfigCheck, type LongestPrompt } from './check-config.ts';
import type { ScorerChecks } from './check-targets.ts';
import type { QuestionSource } from './load-questions.ts';
import { invalidQuestions, MAX_PROBLEMS } from './read-rows.ts';
import { createSelector } from './select-questions.ts';

/** Questions of up to so many characters in all are kept in memory, so that they are not read twice. */
const MAX_KEPT_CHARS = 24 * 1024 * 1024;

/** The result of checking all questions. */
export interface CheckedQuestions {
  readonly count: number;
  /** SHA-256 of the selected questions as stored: one JSON line each. */
  readonly sha256: string;
  /** The number of cells in one run, by config. */
  readonly cellCounts: ReadonlyMap<string, number>;
  /** Why no answer would be graded, as in `no-target`, by config; undefined for one of which some would be. */
  readonly ungradedReasons: ReadonlyMap<string, string | undefined>;
  /** The fields of the first question that have no meaning of their own, and may hold what is missed. */
  readonly otherFields: readonly string[];
  /** The longest prompt of each config. */
  readonly longestPrompts: ReadonlyMap<string, LongestPrompt>;
  /** The size of the prompts of each config. */
  readonly promptSizes: ReadonlyMap<string, PromptSizes>;
  /** The configs that have questions with images. */
  readonly imageConfigs: ReadonlySet<string>;
  /** The selected questions as stored; undefined if they are too many to keep. */
  readonly lines: readonly string[] | undefined;
}

/**
 * Reads every question once, before anything is created: applies the selections, renders every
 * prompt, checks every target with the scorers that compare with it, and computes the digest.
 *
 * @throws {ThriceError} `invalid-question` for a bad file, a question that a prompt cannot be
 *   rendered for, a target that a scorer cannot use or ask its judges about, or a selection without questions.
 */
export async function checkQuestions(
  source: QuestionSource,
  select: Select | undefined,
  configs: readonly Config[],
  { createDigest, ...scorerChecks }: ScorerChecks & { readonly createDigest: CreateDigest },
): Promise<CheckedQuestions> {
  const digest = createDigest();
  const checks = configs.map((config) => new ConfigCheck(config, scorerChecks));
  const problems: string[] = [];
  const countFound = () =>
    checks.reduce((sum, check) => sum + check.targetProblemCount, problems.length);
  let count = 0;
  let otherFields: readonly string[] = [];
  let lines: string[] | undefined = [];
  let keptChars = 0;
  for await (const question of selectQuestions(source, select)) {
    count += 1;
    if (count === 1) otherFields = Object.keys(question.metadata);
    const line = serializeQuestion(question);
    digest.update(line);
    keptChars += line.length;
    if (keptChars > MAX_KEPT_CHARS) lines = undefined;
    lines?.push(line);
    for (const check of checks) problems.push(...check.add(question));
    if (countFound() >= MAX_PROBLEMS) break;
  }
  const foundCount = countFound();
  problems.push(...checks.flatMap(({ targets }) => targets.problems()));
  if (foundCount < MAX_PROBLEMS) problems.push(...emptyProblems(count, checks));
  if (problems.length > 0) throw invalidQuestions(problems, foundCount);
  const byConfig = <T>(pick: (check: ConfigCheck) => T) =>
    new Map(checks.map((check) => [check.config.name, pick(check)]));
  return {
    count,
    sha256: digest.hex(),
    cellCounts: byConfig((check) => check.count),
    ungradedReasons: byConfig(({ targets }) => targets.ungradedReason()),
    otherFields,
    longestPrompts: byConfig(({ longest }) => longest),
    promptSizes: byConfig(({ sizes }) => sizes),
    imageConfigs: new Set(
      checks.filter(({ hasImages }) => hasImages).map(({ config }) => config.name),
    ),
    lines,
  };
}

/** Selections without questions; known only after every question was read. */
function emptyProblems(count: number, checks: readonly ConfigCheck[]): readonly string[] {
  if (count === 0) return ['select leaves no question: expected at least one'];
  return checks
    .filter((check) => check.count === 0)
    .map(({ config }) => `config "${config.name}": select leaves no question`);
}

/** Streams the selected questions, in file order. */
export async function* selectQuestions(
  source: QuestionSource,
  select: Select | undefined,
): AsyncIterable<Question> {
  const { includes } = createSelector(select);
  for await (const question of source.read()) if (includes(question)) yield question;
}

/** Returns the stored form of a question: one JSON line, with its line feed. */
export function serializeQuestion(question: Question): string {
  return `${JSON.stringify(question)}\n`;
}
