import type { CellRow } from '../domain/cell.ts';
import { ownValue, type Question } from '../domain/question.ts';
import { countedScoreOf, isExcluded } from '../domain/ruling.ts';
import type { QuestionRow } from '../results/read-rows.ts';

/** The figure that is compared unless another one is named. */
export const SCORE = 'score';

/** What a config has for one question, over replicates. */
export interface QuestionValue {
  /** Sum of the figure over the cells that have it. */
  readonly sum: number;
  /** Sum of its squares. */
  readonly squares: number;
  /** Cells that have it. */
  readonly count: number;
  /** Cells, whatever became of them, but for those that a ruling excludes. */
  readonly cells: number;
  /** Cells that a ruling counts as 0, or excludes. */
  readonly ruled: number;
  readonly tags: Question['tags'];
  /** Of what is asked; undefined where nobody asks for it. */
  readonly digest: string | undefined;
}

const NO_TAGS: Question['tags'] = {};

/** The values of one figure of a config, by question. */
export class QuestionValues {
  readonly #figure: string;
  readonly #digestOf: ((question: Question) => string) | undefined;
  /** Questions have few different ones: one object of each is kept. */
  readonly #tags = new Map<string, Question['tags']>();
  readonly #byId = new Map<
    string,
    { -readonly [Key in keyof QuestionValue]: QuestionValue[Key] }
  >();

  /**
   * @param figure - `score`, or the name of a metric.
   * @param digestOf - Tells questions apart that are asked otherwise. @default nobody compares them
   */
  constructor(figure: string, digestOf?: (question: Question) => string) {
    this.#figure = figure;
    this.#digestOf = digestOf;
  }

  add({ question, row }: QuestionRow): void {
    const { id } = question;
    const known = this.#byId.get(id);
    const value = known ?? {
      sum: 0,
      squares: 0,
      count: 0,
      cells: 0,
      ruled: 0,
      tags: NO_TAGS,
      digest: undefined,
    };
    if (known === undefined) {
      value.digest = this.#digestOf?.(question);
      value.tags = this.#tagsOf(question);
      this.#byId.set(id, value);
    }
    const figure = figureOf(row, this.#figure);
    const isLeftOut = isExcluded(row);
    if (isLeftOut || (row.ruling !== undefined && this.#figure === SCORE)) value.ruled += 1;
    if (isLeftOut) return;
    value.cells += 1;
    if (figure === null) return;
    value.sum += figure;
    value.squares += figure * figure;
    value.count += 1;
  }

  #tagsOf({ tags }: Question): Question['tags'] {
    const key = JSON.stringify(tags);
    const known = this.#tags.get(key) ?? tags;
    this.#tags.set(key, known);
    return known;
  }

  get byId(): ReadonlyMap<string, QuestionValue> {
    return this.#byId;
  }
}

function figureOf(row: CellRow, figure: string): number | null {
  return figure === SCORE ? countedScoreOf(row) : (ownValue(row.metrics, figure) ?? null);
}
