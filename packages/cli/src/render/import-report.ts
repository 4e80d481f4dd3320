import { countOf, cutList, hasScore, type Summary } from '@thrice/core';
import type { FileContent } from '@thrice/formats';

/** An imported cell without a score. */
export interface UnscoredCell {
  readonly config: string;
  readonly id: string;
  readonly outcome: string;
  /** The code of its error; null for a cell that the file says nothing of. */
  readonly reason: string | null;
}

/** Lists the cells of a file that have no score: a row without a grade, or none at all. */
export function listUnscored({ configs, questions }: FileContent): readonly UnscoredCell[] {
  return [...configs].flatMap(([config, results]) =>
    questions.flatMap(({ id }): UnscoredCell[] => {
      const { outcome = 'not-attempted', reason = null } = results.get(id) ?? {};
      return hasScore(outcome) ? [] : [{ config, id, outcome, reason }];
    }),
  );
}

/** Describes an import, a line for each thing that a reader of its figures has to know. */
export function describeImport(
  { configs, questions, file }: FileContent,
  {
    name,
    isNew,
    exportsSame,
    unscored,
    summary,
    place,
  }: {
    /** Of the file. */
    readonly name: string;
    readonly isNew: boolean;
    readonly exportsSame: boolean;
    readonly unscored: readonly UnscoredCell[];
    readonly summary: Summary;
    /** The folder of the group, as shown to users. */
    readonly place: string;
  },
): readonly string[] {
  const rowCount = [...configs.values()].reduce((sum, results) => sum + results.size, 0);
  const counts = `${countOf(rowCount, 'row')} of ${countOf(configs.size, 'config')} and ${countOf(questions.length, 'question')}`;
  return [
    `${name}: ${counts}${isNew ? '' : ', imported before'}`,
    ...file.notices.map((notice) => `${name}: ${notice}`),
    ...(exportsSame ? [] : [`${name}: its export is not the same file`]),
    ...summary.configs.flatMap((config) => describeConfig(config, unscored, place)),
  ];
}

function describeConfig(
  { config, replicates: [figures] }: Summary['configs'][number],
  all: readonly UnscoredCell[],
  place: string,
): readonly string[] {
  const unscored = all.filter((cell) => cell.config === config);
  if (figures === undefined || unscored.length === 0) return [];
  const { run, correct, scored, unparsed, questions, coverage, headline } = figures;
  const upper = correct + unscored.length;
  const byReason = Map.groupBy(unscored, ({ outcome, reason }) =>
    reason === null ? outcome : `${outcome}, ${reason}`,
  );
  return [
    `${config}: ${correct}/${scored + unparsed}, coverage ${coverage?.toFixed(3) ?? 'unknown'}${headline === null ? ', no headline' : ''}; bounds ${correct}/${questions}, where they count as wrong, to ${upper}/${questions}`,
    ...[...byReason].map(
      ([reason, cells]) =>
        `  ${cells.length} x ${reason}: ${cutList(cells.map(({ id }) => id)).join(', ')}`,
    ),
    `  listed in: ${place}/${run}/failures_${config}.json`,
  ];
}
