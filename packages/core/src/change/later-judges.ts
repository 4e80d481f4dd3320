import { canonicalText } from '../domain/canonical-text.ts';
import { judgesOf } from '../domain/config-models.ts';
import type { Grading } from '../domain/grading.ts';
import { type GroupHeader, groupHeaderSchema, type LaterJudges } from '../domain/group.ts';
import { judgedPartOf, judgeModelsOf } from '../domain/judge-models.ts';
import type { Price } from '../domain/price.ts';

/** What an edit is recorded with. */
export interface EditOrigin {
  readonly commandLine: readonly string[];
  readonly toolVersion: string;
}

/** The judges of a grading that no earlier one has asked the same, with its number. */
function judgesToAdd(
  header: Pick<GroupHeader, 'configs' | 'laterJudges'>,
  { number, configs, questionsKey }: Grading,
): readonly LaterJudges[] {
  const known = judgesOf(header).map(askedAs);
  return configs
    .filter(({ scorer }) => judgeModelsOf(scorer).length > 0)
    .map(({ config, scorer }) => ({ config, scorer, ...(questionsKey && { questionsKey }) }))
    .filter((judges) => !known.includes(askedAs(judges)))
    .map((judges) => ({ ...judges, grading: number }));
}

/** Judges that have this in common have given the same verdicts. */
function askedAs({ config, scorer, questionsKey }: Omit<LaterJudges, 'grading'>): string {
  return canonicalText({ config, judged: judgedPartOf(scorer), questionsKey });
}

/**
 * Adds the judges of a grading to the plan of a group.
 *
 * @param prices - The built-in ones of their models, by `lane/model`.
 * @returns The same header if it has them.
 */
export function withLaterJudges(
  header: GroupHeader,
  grading: Grading,
  prices: ReadonlyMap<string, Price> = new Map(),
): GroupHeader {
  const added = judgesToAdd(header, grading);
  if (added.length === 0) return header;
  const models = added.flatMap(({ scorer }) => judgeModelsOf(scorer));
  const priced = models.flatMap((model) => {
    const price = prices.get(model);
    const isOwn = Object.hasOwn(header.spec.prices, model);
    return price === undefined || isOwn ? [] : [[model, price] as const];
  });
  const { builtinPrices } = header;
  return groupHeaderSchema.parse({
    ...header,
    builtinPrices: {
      ...builtinPrices,
      prices: { ...builtinPrices.prices, ...Object.fromEntries(priced) },
    },
    laterJudges: [...(header.laterJudges ?? []), ...added],
  });
}

/** Records in a header that judges were added to it. */
export function recordJudges(
  before: GroupHeader,
  edited: GroupHeader,
  at: string,
  { commandLine, toolVersion }: EditOrigin,
): GroupHeader {
  const added = (edited.laterJudges ?? []).slice(before.laterJudges?.length ?? 0);
  const edit = {
    at,
    commandLine: [...commandLine],
    toolVersion,
    changes: added.map(({ config, scorer }) => ({
      key: `configs.${config}.scorer`,
      was: null,
      is: judgeModelsOf(scorer).join(', '),
    })),
    before: { specSha256: before.specSource.sha256, questions: before.questions },
  };
  return groupHeaderSchema.parse({ ...edited, edits: [...before.edits, edit] });
}
