import { judgeSpecSchema } from '../domain/benchmark-spec.ts';
import { askedAs, currentJudgesOf } from '../domain/config-models.ts';
import type { Grading } from '../domain/grading.ts';
import { type GroupHeader, groupHeaderSchema, type LaterJudges } from '../domain/group.ts';
import { judgedScorerOf, judgeModelsOf } from '../domain/judge-models.ts';
import type { Price } from '../domain/price.ts';
import type { ScorerSpec } from '../domain/scorer.ts';

/** What an edit is recorded with. */
export interface EditOrigin {
  readonly commandLine: readonly string[];
  readonly toolVersion: string;
}

/** What grades by another judge than before since a grading, or by none. */
function judgesToAdd(
  header: Pick<GroupHeader, 'configs' | 'laterJudges'>,
  { number, configs, questionsKey }: Grading,
): readonly LaterJudges[] {
  return configs
    .map(({ config, scorer }) => ({
      ...{ config, grading: number, scorer },
      ...(questionsKey && { questionsKey }),
    }))
    .filter((judges) => {
      const current = currentJudgesOf(header, judges.config);
      return askedAs(judges) !== (current && askedAs(current));
    });
}

/**
 * Adds to the plan of a group by whose judges a grading grades, where that has changed.
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

/** Records in a header that judges were added to it, and who graded before them. */
export function recordJudges(
  before: GroupHeader,
  edited: GroupHeader,
  { at, earlier }: { readonly at: string; readonly earlier: Grading },
  { commandLine, toolVersion }: EditOrigin,
): GroupHeader {
  const scorerBefore = (config: string) =>
    earlier.configs.find((each) => each.config === config)?.scorer;
  const added = (edited.laterJudges ?? []).slice(before.laterJudges?.length ?? 0);
  const edit = {
    at,
    commandLine: [...commandLine],
    toolVersion,
    changes: added.map(({ config, scorer }) => ({
      key: `configs.${config}.scorer`,
      was: describeGrader(scorerBefore(config)),
      is: describeGrader(scorer),
    })),
    before: { specSha256: before.specSource.sha256, questions: before.questions },
  };
  return groupHeaderSchema.parse({ ...edited, edits: [...before.edits, edit] });
}

/** The models that a scorer asks, and how often each; its kind if it asks none. */
function describeGrader(scorer: ScorerSpec | undefined): string | null {
  if (scorer === undefined) return null;
  const models = judgeModelsOf(scorer).join(', ');
  if (models === '') return scorer.kind;
  const { replicates = 1 } = judgeSpecSchema.parse(judgedScorerOf(scorer));
  return replicates === 1 ? models : `${models}, ${replicates} times each`;
}
