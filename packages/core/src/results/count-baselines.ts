import { readStoredQuestions } from '../cells/read-question.ts';
import type { Config } from '../domain/benchmark.ts';
import { canonicalText } from '../domain/canonical-text.ts';
import { choiceLetter } from '../domain/choices.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import { type ScorerSpec, scorersOf } from '../domain/scorer.ts';
import { limits } from '../limits.ts';
import { mapBounded } from '../map-bounded.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import { echoOf } from '../scorers/controls.ts';
import {
  type Grader,
  type GraderStores,
  gradeAnswer,
  isLeftToJudges,
} from '../scorers/grade-answer.ts';
import { type GroupCode, groupCode } from '../scorers/group-code.ts';
import { metricsByConfig } from '../scorers/metrics-by-config.ts';
import { scorerRegistry } from '../scorers/registry.ts';
import { createSelector, type Selector } from '../spec/questions/select-questions.ts';
import { mean } from '../statistics/mean.ts';
import { type Baseline, bestBaseline } from './baseline-report.ts';

/** Questions of a config on which baselines are scored; of more, so many are taken at even distances. */
const MAX_QUESTIONS = 2000;

/** What baselines are scored with. */
export interface BaselineStores extends GraderStores {
  readonly blobs: Pick<BlobStore, 'readLines'>;
}

/**
 * Scores five ways of answering without a model on the questions of each config, by its scorer: nothing, the question
 * itself, the same choice every time (the best one), the longest choice, and the most frequent target.
 *
 * Reads the stored questions once. A question for which a baseline has no answer counts as answered with nothing, so that
 * all are of the same questions as the config's score. A pattern that finds nothing in a baseline is taken to find all of
 * it: an answer without content could be given in any form.
 *
 * @param configs - With the scorers of the grading that is looked at.
 * @returns The baselines by config, without those that no question allows: an echo of questions without texts. None for a
 *   config whose scorer asks judges, is not of this release, or compares each answer with controls itself.
 * @throws {ThriceError} `store-unusable` where the questions are missing.
 */
export async function countBaselines(
  header: GroupHeader,
  configs: readonly Config[],
  { blobs, userCode, scorers = scorerRegistry, patternLimitMs }: BaselineStores,
): Promise<ReadonlyMap<string, readonly Baseline[]>> {
  const samples = new Map<string, Sample>();
  const declared = metricsByConfig(configs, scorers);
  const keys = new Map<string, string>();
  for (const { name, scorer, select } of configs) {
    const cells = header.configs.find(({ config }) => config === name)?.cells ?? 0;
    const isKnown = scorersOf(scorer).every(({ kind }) => scorers.has(kind));
    const hasControls = declared.get(name)?.some(({ control }) => control !== undefined);
    if (cells === 0 || !isKnown || hasControls === true) continue;
    const key = canonicalText([scorer, select]);
    keys.set(name, key);
    if (!samples.has(key)) samples.set(key, new Sample(scorer, cells, createSelector(select)));
  }
  if (samples.size === 0) return new Map();
  for await (const { question } of readStoredQuestions(header, blobs)) {
    for (const sample of samples.values()) sample.add(question);
  }
  const grader = { userCode: findingAll(groupCode(userCode, header)), scorers, patternLimitMs };
  const counted = new Map<string, readonly Baseline[]>();
  for (const [key, sample] of samples) counted.set(key, await sample.score(grader));
  return new Map([...keys].map(([name, key]) => [name, counted.get(key) ?? []]));
}

function findingAll(userCode: GroupCode): GroupCode {
  return {
    ...userCode,
    match: async (pattern, text, limitMs) => {
      const found = await userCode.match(pattern, text, limitMs);
      return found.kind === 'none' ? { kind: 'found', text: text.trim() } : found;
    },
  };
}

/** The questions that one scorer grades, or as many of them as are looked at. */
class Sample {
  readonly #scorer: ScorerSpec;
  readonly #cells: number;
  readonly #selector: Selector;
  readonly #questions: Question[] = [];
  readonly #targetCounts = new Map<string, number>();
  #seen = 0;

  /** @param cells - How many questions the selector is going to include. */
  constructor(scorer: ScorerSpec, cells: number, selector: Selector) {
    this.#scorer = scorer;
    this.#cells = cells;
    this.#selector = selector;
  }

  add(question: Question): void {
    if (!this.#selector.includes(question)) return;
    for (const target of new Set(question.target)) {
      this.#targetCounts.set(target, (this.#targetCounts.get(target) ?? 0) + 1);
    }
    const wanted = Math.min(MAX_QUESTIONS, this.#cells);
    const countUpTo = (index: number) => Math.floor((index * wanted) / this.#cells);
    const isTaken = countUpTo(this.#seen + 1) > countUpTo(this.#seen);
    this.#seen += 1;
    if (isTaken) this.#questions.push(withoutImages(question));
  }

  async score(grader: Grader): Promise<readonly Baseline[]> {
    const questions = this.#questions;
    if (questions.some((each) => isLeftToJudges(this.#scorer, each, grader.scorers))) return [];
    const baselines: Baseline[] = [];
    for (const { baseline, text, answers } of this.#answersOf()) {
      const figure = await this.#scoreOne(answers, grader);
      baselines.push({ baseline, text, ...figure });
    }
    const letters = baselines.filter(({ baseline }) => baseline === 'constant-choice');
    const best = bestBaseline(letters);
    return baselines.filter((each) => each.baseline !== 'constant-choice' || each === best);
  }

  #answersOf(): readonly Answering[] {
    const choiceCount = Math.max(0, ...this.#questions.map(({ choices }) => choices?.length ?? 0));
    const letters = Array.from({ length: choiceCount }, (_, index) => choiceLetter(index));
    const hasTexts = this.#questions.some(({ question }) => question !== null);
    const [frequent] = [...this.#targetCounts].toSorted(([, left], [, right]) => right - left);
    const answerings: Answering[] = [{ baseline: 'empty', text: '', answers: () => [''] }];
    if (hasTexts) answerings.push({ baseline: 'echo', text: null, answers: echoIn });
    for (const text of letters) {
      answerings.push({
        baseline: 'constant-choice',
        text,
        answers: (question) => formsOf(text, question),
      });
    }
    if (choiceCount > 0)
      answerings.push({ baseline: 'longest-choice', text: null, answers: longestChoice });
    const [text] = frequent ?? [];
    if (text !== undefined)
      answerings.push({ baseline: 'frequent-target', text, answers: () => [text] });
    return answerings;
  }

  /** The mean over questions of the best of several forms of an answer. */
  async #scoreOne(
    answers: Answering['answers'],
    grader: Grader,
  ): Promise<Pick<Baseline, 'score' | 'n'>> {
    // A page at a time: a command is started for all of it.
    const found = await mapBounded(this.#questions, limits.pageSize, (question) =>
      this.#bestOf(answers(question), question, grader),
    );
    const scores = found.filter((score) => score !== null);
    return { score: mean(scores) ?? null, n: scores.length };
  }

  async #bestOf(
    outputs: readonly string[],
    question: Question,
    grader: Grader,
  ): Promise<number | null> {
    let best: number | null = null;
    for (const output of outputs) {
      const answer = { output, refusal: null, finishReason: 'stop', hasReasoning: null } as const;
      const { score } = await gradeAnswer(this.#scorer, question, answer, grader);
      if (score !== null) best = Math.max(best ?? 0, score);
      if (best === 1) break;
    }
    return best;
  }
}

/** A baseline, and what it answers to a question: the same in one form or several. */
interface Answering extends Pick<Baseline, 'baseline' | 'text'> {
  readonly answers: (question: Question) => readonly string[];
}

/** Images would fill the memory. */
function withoutImages({ attachments: _, ...question }: Question): Question {
  if (question.messages === null) return question;
  return { ...question, question: echoOf(question), messages: null };
}

function echoIn(question: Question): readonly string[] {
  return [echoOf(question)];
}

function longestChoice(question: Question): readonly string[] {
  const { choices } = question;
  const lengths = (choices ?? []).map(({ length }) => length);
  const index = lengths.indexOf(Math.max(...lengths));
  const longest = choices?.[index];
  return longest === undefined ? [''] : [longest, ...formsOf(choiceLetter(index), question)];
}

/** In parentheses too where a target has some: each further form takes as long as the first. */
function formsOf(letter: string, { target }: Question): readonly string[] {
  const isEnclosed = target?.some((each) => each.includes('(')) === true;
  return isEnclosed ? [letter, `(${letter})`] : [letter];
}
