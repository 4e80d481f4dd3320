import { type Config, isJudge, type Role } from '../../domain/benchmark.ts';
import type { Select } from '../../domain/benchmark-spec.ts';
import { type Message, textsOf } from '../../domain/message.ts';
import { addPrompt, NO_PROMPTS, type PromptSizes } from '../../domain/prompt-sizes.ts';
import type { Question } from '../../domain/question.ts';
import { toThriceError } from '../../errors.ts';
import type { CreateDigest } from '../../ports/digest.ts';
import { renderUnanswered, usesChoices } from '../render-prompt.ts';
import { createTargetCheck, type DescribeExpectedTarget } from './check-targets.ts';
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
  /** The number of questions with a target, by config. */
  readonly targetCounts: ReadonlyMap<string, number>;
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

/** The longest prompt of a config. */
export interface LongestPrompt {
  /** Of its question. */
  readonly id: string;
  readonly chars: number;
}

/**
 * Reads every question once, before anything is created: applies the selections, renders every
 * prompt, checks every target with the scorers that compare with it, and computes the digest.
 *
 * @throws {ThriceError} `invalid-question` for a bad file, a question that a prompt cannot be
 *   rendered for, a target that a scorer cannot use, or a selection without questions.
 */
export async function checkQuestions(
  source: QuestionSource,
  select: Select | undefined,
  configs: readonly Config[],
  {
    createDigest,
    describeExpectedTarget,
  }: {
    readonly createDigest: CreateDigest;
    readonly describeExpectedTarget: DescribeExpectedTarget;
  },
): Promise<CheckedQuestions> {
  const digest = createDigest();
  const perConfig = configs.map((config) => startCheck(config, describeExpectedTarget));
  const problems: string[] = [];
  let targetProblemCount = 0;
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
    for (const entry of perConfig) {
      if (!entry.includes(question)) continue;
      entry.count += 1;
      const rendered = renderAll(entry, question);
      problems.push(...rendered.problems);
      for (const prompt of rendered.prompts.slice(0, 1))
        entry.sizes = addPrompt(entry.sizes, prompt);
      for (const prompt of rendered.prompts)
        entry.longest = longerPrompt(entry.longest, question, prompt);
      entry.hasImages ||= hasImage(question);
      if (
        entry.dropsChoices &&
        question.choices !== null &&
        entry.config.scorer.kind === 'choice'
      ) {
        problems.push(droppedChoices(entry.config, question));
        // Once says it all.
        entry.dropsChoices = false;
      }
      targetProblemCount += entry.targets.add(question);
    }
    if (problems.length + targetProblemCount >= MAX_PROBLEMS) break;
  }
  const foundCount = problems.length + targetProblemCount;
  problems.push(...perConfig.flatMap(({ targets }) => targets.problems()));
  if (foundCount < MAX_PROBLEMS) problems.push(...emptyProblems(count, perConfig));
  if (problems.length > 0) throw invalidQuestions(problems, foundCount);
  return {
    count,
    sha256: digest.hex(),
    cellCounts: new Map(perConfig.map((entry) => [entry.config.name, entry.count])),
    targetCounts: new Map(
      perConfig.map((entry) => [entry.config.name, entry.targets.targetCount()]),
    ),
    otherFields,
    longestPrompts: new Map(perConfig.map(({ config, longest }) => [config.name, longest])),
    promptSizes: new Map(perConfig.map(({ config, sizes }) => [config.name, sizes])),
    imageConfigs: new Set(
      perConfig.filter(({ hasImages }) => hasImages).map(({ config }) => config.name),
    ),
    lines,
  };
}

/** What is counted of a config while its questions are read. */
function startCheck(config: Config, describeExpectedTarget: DescribeExpectedTarget) {
  return {
    config,
    includes: createSelector(config.select).includes,
    count: 0,
    targets: createTargetCheck(config, describeExpectedTarget),
    hasImages: false,
    longest: { id: '', chars: -1 },
    sizes: NO_PROMPTS,
    askings: askingsOf(config),
    dropsChoices: config.roles.some(
      (role) => !isJudge(role) && role.prompt !== undefined && !usesChoices(role.prompt),
    ),
  };
}

/** Selections without questions; known only after every question was read. */
function emptyProblems(
  count: number,
  perConfig: readonly { readonly config: Config; readonly count: number }[],
): readonly string[] {
  if (count === 0) return ['select leaves no question: expected at least one'];
  return perConfig
    .filter((entry) => entry.count === 0)
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

function hasImage({ attachments, messages }: Question): boolean {
  if (attachments !== undefined) return true;
  return (messages ?? []).some(
    ({ content }) =>
      typeof content !== 'string' && content.some(({ type }) => type === 'image_url'),
  );
}

function droppedChoices({ name }: Config, { id }: Question): string {
  return `config "${name}": prompt: expected {{choices}}, because question "${id}" has choices and the scorer "choice" reads one of them; received a template without them`;
}

function longerPrompt(
  longest: LongestPrompt,
  { id }: Question,
  prompt: readonly Message[],
): LongestPrompt {
  const texts = prompt.flatMap(({ content }) => textsOf(content));
  const chars = texts.reduce((sum, { length }) => sum + length, 0);
  return chars > longest.chars ? { id, chars } : longest;
}

/** Ways in which a config asks a question: samples of a model ask the same. */
function askingsOf({ roles }: Config): readonly Role[] {
  const byText = new Map(
    roles.map((role) => [JSON.stringify([isJudge(role), role.system, role.prompt]), role]),
  );
  return [...byText.values()];
}

/** Renders the prompts of a config for a question, or says why they cannot be. */
function renderAll(
  { config, askings }: { readonly config: Config; readonly askings: readonly Role[] },
  question: Question,
): { readonly prompts: readonly (readonly Message[])[]; readonly problems: readonly string[] } {
  const prompts: (readonly Message[])[] = [];
  const problems = new Set<string>();
  for (const role of askings) {
    try {
      const prompt = renderUnanswered(role, question);
      // That of a judge has answers in it, whose length nobody knows yet.
      if (!isJudge(role)) prompts.push(prompt);
    } catch (error) {
      problems.add(`config "${config.name}": ${toThriceError(error).message}`);
    }
  }
  return { prompts, problems: [...problems] };
}
