import { readStoredQuestions } from '../cells/read-question.ts';
import type { Benchmark, Config } from '../domain/benchmark.ts';
import type { Select } from '../domain/benchmark-spec.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { CreateDigest } from '../ports/digest.ts';
import { isPlanned } from '../publish/graded-group.ts';
import { describeChange, renderChange, type SpecChange } from '../spec/compare-specs.ts';
import { selectQuestions, serializeQuestion } from '../spec/questions/check-questions.ts';
import type { QuestionSource } from '../spec/questions/load-questions.ts';
import { createSelector } from '../spec/questions/select-questions.ts';
import { renderUnanswered } from '../spec/render-prompt.ts';

/** What a prompt is made of, and the target. */
const ASKED_FIELDS = [
  'question',
  'messages',
  'choices',
  'attachments',
  'tags',
  'metadata',
] as const;

/** The questions of a stored group and those that its edited spec names. */
export interface QuestionComparison {
  readonly header: GroupHeader;
  readonly before: Benchmark;
  readonly after: Benchmark;
  readonly source: QuestionSource;
  readonly select: Select | undefined;
}

/** What is known of a stored question: its digest, and which of the configs ask it, as a text of bits. */
interface Earlier {
  readonly digest: string;
  readonly asking: string;
}

/** How questions differ from those that a group has asked. */
export interface QuestionChanges {
  /** What would be asked otherwise, or no longer: one line each. Questions that are added are none of them. */
  readonly problems: readonly string[];
  /** Corrected targets and rubrics: the same is asked, and graded otherwise. */
  readonly targets: readonly SpecChange[];
}

/**
 * Lists the questions that were planned and are gone, that a config no longer asks, or that would be asked otherwise,
 * and those whose target or rubric has changed.
 *
 * Reads both files, and keeps a digest of each question.
 */
export async function compareQuestions(
  { header, before, after, source, select }: QuestionComparison,
  { blobs, createDigest }: { readonly blobs: BlobStore; readonly createDigest: CreateDigest },
): Promise<QuestionChanges> {
  const configs = before.configs.filter(({ name }) => isPlanned(header, name));
  const digestOf = (question: Question) => {
    const digest = createDigest();
    digest.update(serializeQuestion(question));
    return digest.hex();
  };
  const earlier = new Map<string, Earlier>();
  const askingBefore = createAsking(configs);
  for await (const { question } of readStoredQuestions(header, blobs)) {
    const known = { digest: digestOf(question), asking: askingBefore(question) };
    earlier.set(question.id, known);
  }
  const problems: string[] = [];
  const changed = new Map<string, Question>();
  const askingAfter = createAsking(configs.map(({ name }) => findConfig(after, name)));
  for await (const question of selectQuestions(source, select)) {
    const asking = askingAfter(question);
    const known = earlier.get(question.id);
    if (known === undefined) continue;
    earlier.delete(question.id);
    problems.push(...describeLost(question, configs, known.asking, asking));
    if (digestOf(question) !== known.digest) changed.set(question.id, question);
  }
  problems.push(...[...earlier.keys()].map((id) => `question "${id}": was asked, is missing`));
  const targets: SpecChange[] = [];
  for await (const { question } of readStoredQuestions(header, blobs)) {
    const edited = changed.get(question.id);
    if (edited === undefined) continue;
    problems.push(...describeQuestion(question, edited, configs));
    if (differ(question, edited, 'target')) targets.push(describeTarget(question, edited));
    if (differ(question, edited, 'rubric'))
      targets.push(
        describeSizes(`question "${question.id}": rubric`, question.rubric, edited.rubric),
      );
  }
  return { problems, targets };
}

function findConfig(benchmark: Benchmark, name: string): Config | undefined {
  return benchmark.configs.find((config) => config.name === name);
}

/** Returns a function that says which configs ask a question; call it for each question, in file order. */
function createAsking(configs: readonly (Config | undefined)[]): (question: Question) => string {
  const selectors = configs.map((config) => config && createSelector(config.select));
  return (question) =>
    selectors.map((selector) => (selector?.includes(question) === true ? '1' : '0')).join('');
}

function describeLost(
  { id }: Question,
  configs: readonly Config[],
  before: string,
  after: string,
): readonly string[] {
  return configs
    .filter((_, index) => before[index] === '1' && after[index] === '0')
    .map(({ name }) => `configs.${name}.select: was with question "${id}", is without it`);
}

/** Lists what is asked otherwise than before. A tag that no prompt has in it may change. */
function describeQuestion(
  before: Question,
  after: Question,
  configs: readonly Config[],
): readonly string[] {
  const isAskedAlike = configs.every(
    (config) => promptText(config, before) === promptText(config, after),
  );
  const fields = isAskedAlike ? [] : ASKED_FIELDS.filter((field) => differ(before, after, field));
  return fields.map((field) =>
    renderChange(describeSizes(`question "${before.id}": ${field}`, before[field], after[field])),
  );
}

function describeTarget({ id, target }: Question, after: Question): SpecChange {
  return describeChange(`question "${id}": target`, target, after.target);
}

/** Shows sizes only: what a question asks, and a rubric, may be confidential. */
function describeSizes(key: string, before: unknown, after: unknown): SpecChange {
  const [was = null, is = null] = [before, after].map((value) =>
    value === undefined || value === null ? null : `${JSON.stringify(value).length} characters`,
  );
  return { key, was, is };
}

function promptText(config: Config, question: Question): string {
  return JSON.stringify(config.roles.map((role) => renderUnanswered(role, question)));
}

function differ(before: Question, after: Question, field: keyof Question): boolean {
  return JSON.stringify(before[field]) !== JSON.stringify(after[field]);
}
