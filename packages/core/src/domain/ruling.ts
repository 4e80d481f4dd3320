import * as z from 'zod';
import { type ErrorClass, errorCodesByClass } from '../errors.ts';
import { AWAITING_JUDGE, JUDGE_BELOW_FLOOR } from './grade.ts';

/** Errors of a command or a store: no cell ends with one. */
const OTHER_CLASSES: readonly ErrorClass[] = ['input', 'conflict'];

/** Why answers have no grade that no error is to blame for. */
const UNGRADED_REASONS = ['no-target', 'tied-judges', JUDGE_BELOW_FLOOR] as const;

/** What a ruling can be about: the class or the code of an error, or why an answer has no grade. */
export const ruledClasses: readonly [string, ...string[]] = [
  ...UNGRADED_REASONS,
  ...Object.entries(errorCodesByClass)
    .filter(([errorClass]) => !OTHER_CLASSES.includes(errorClass as ErrorClass))
    .flatMap(([errorClass, codes]) => [errorClass, ...codes]),
];

/**
 * How cells count that have no score: as 0, in no figure at all, or as they do without a ruling, which is in coverage and
 * bounds alone.
 */
export const ruledAsSchema = z.enum(['wrong', 'excluded', 'missing'], {
  error: 'expected "wrong", "excluded" or "missing"',
});
/** How cells count that have no score. */
export type RuledAs = z.infer<typeof ruledAsSchema>;

/** The rulings of a spec, by class. */
export const specRulingsSchema = z.partialRecord(z.enum(ruledClasses), ruledAsSchema);

/** A recorded decision to count the cells of an error class in a stated way. */
export const rulingSchema = z.strictObject({
  /** One of {@link ruledClasses}. */
  class: z.string(),
  as: ruledAsSchema,
  why: z.string().min(1),
  at: z.iso.datetime(),
  commandLine: z.array(z.string()),
  toolVersion: z.string(),
});
/** A recorded decision to count the cells of an error class in a stated way. */
export type Ruling = Readonly<z.infer<typeof rulingSchema>>;

/** The ruling by which a cell counts that has no score. */
export const rowRulingSchema = z.strictObject({
  class: z.string(),
  as: ruledAsSchema.exclude(['missing']),
});
/** The ruling by which a cell counts that has no score. */
export type RowRuling = Readonly<z.infer<typeof rowRulingSchema>>;

/** What a ruling goes by. */
interface EndedCell {
  readonly outcome: string;
  readonly reason: string | null;
  readonly error: { readonly class: string; readonly code: string } | null;
}

/** A cell and how it counts. */
interface RuledCell {
  readonly score: number | null;
  readonly ruling?: RowRuling | undefined;
}

/** The `why` of a ruling in a spec. */
export const RULED_IN_SPEC = 'stated in the spec';

/**
 * Finds the ruling by which a cell counts; undefined for a cell that counts as it is. An answer with a score has that
 * score, and a cell that was not attempted, or waits for its judge, may still get one.
 *
 * A ruling on a code or a reason goes before one on the class.
 */
export function findRuling(
  { outcome, reason, error }: EndedCell,
  rulings: readonly Ruling[],
): RowRuling | undefined {
  if (rulings.length === 0 || (outcome !== 'failed' && outcome !== 'ungraded')) return undefined;
  if (reason === AWAITING_JUDGE) return undefined;
  const found = [reason, error?.code, error?.class]
    .map((name) => rulings.find((ruling) => ruling.class === name))
    .find((ruling) => ruling !== undefined);
  return found === undefined || found.as === 'missing'
    ? undefined
    : { class: found.class, as: found.as };
}

/** The score that a cell counts with, 0..1; null for one that counts in no score. */
export function countedScoreOf({ score, ruling }: RuledCell): number | null {
  return ruling?.as === 'wrong' ? 0 : score;
}

/** Whether a cell counts in no figure of scores, coverage included. */
export function isExcluded({ ruling }: Pick<RuledCell, 'ruling'>): boolean {
  return ruling?.as === 'excluded';
}

/** Adds rulings to others: the later one on a class replaces the earlier one. */
export function joinRulings(
  earlier: readonly Ruling[],
  later: readonly Ruling[],
): readonly Ruling[] {
  const byClass = new Map([...earlier, ...later].map((ruling) => [ruling.class, ruling]));
  return [...byClass.values()];
}

/** What rulings say, by class; undefined where all cells without a score count as missing. */
export function rulingsByClass({
  rulings = [],
}: {
  readonly rulings?: readonly Ruling[] | undefined;
}): Record<string, RuledAs> | undefined {
  if (rulings.every(({ as }) => as === 'missing')) return undefined;
  return Object.fromEntries(rulings.map(({ class: name, as }) => [name, as]));
}
