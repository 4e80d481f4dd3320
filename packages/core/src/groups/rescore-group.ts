import { type Grading, isSameGrading } from '../domain/grading.ts';
import type { ScorerRegistry, ScorerSpec } from '../domain/scorer.ts';
import { describeUnknownKind } from '../domain/scorer.ts';
import { ThriceError } from '../errors.ts';
import { scorerRegistry } from '../scorers/registry.ts';
import type { LoadedGroup } from '../spec/load-group.ts';
import { editionOf, type FinalizeStores } from './finalize-group.ts';
import {
  currentGrading,
  type Gradings,
  gradingFolder,
  readGradings,
  writeGradings,
} from './gradings.ts';
import { publishRecorded } from './publish-results.ts';

/** The scorers of a spec. */
export interface SpecScorers {
  readonly specSha256: string;
  /** By the name of the config. */
  readonly scorers: ReadonlyMap<string, ScorerSpec>;
}

/** The result of {@link addGrading}. */
export interface Regrading {
  /** The current grading. */
  readonly grading: Grading;
  /** Whether it was added. If not, the answers had been graded with these scorers before. */
  readonly isNew: boolean;
}

/**
 * Adds a grading to a group and makes it the current one. Grades nothing yet: whoever reads rows afterwards, as
 * publication does, grades each recorded answer with its scorers.
 *
 * Writes the files of the grading before it beside the current ones, then the list of gradings. A crash leaves
 * the earlier grading current, or the new one; a repeated call with the same scorers adds nothing.
 *
 * @param edited - The scorers of an edited spec. @default those of the current grading, in the versions of this
 *   release
 * @throws {ThriceError} `unsupported` for a scorer that this release does not have.
 */
export async function addGrading(
  group: Pick<LoadedGroup, 'header' | 'benchmark' | 'state'>,
  edited: SpecScorers | undefined,
  stores: FinalizeStores,
): Promise<Regrading> {
  const { header, benchmark, state } = group;
  const { blobs, clock, scorers = scorerRegistry } = stores;
  const gradings = await readGradings(header, benchmark, blobs);
  const current = currentGrading(gradings);
  const createdAt = clock.toIso(clock.now());
  const next = describeNext({ current, createdAt, edited, registry: scorers });
  if (isSameGrading(current, next)) return { grading: current, isNew: false };
  const folder = gradingFolder(header.group, current.number);
  const edition = { ...editionOf(header, benchmark, gradings, current.number), folder };
  await publishRecorded(edition, state, stores);
  const all: Gradings = [...gradings, next];
  await writeGradings(header.group, all, blobs);
  return { grading: next, isNew: true };
}

function describeNext({
  current,
  createdAt,
  edited,
  registry,
}: {
  readonly current: Grading;
  readonly createdAt: string;
  readonly edited: SpecScorers | undefined;
  readonly registry: ScorerRegistry;
}): Grading {
  return {
    number: current.number + 1,
    createdAt,
    specSha256: edited?.specSha256 ?? current.specSha256,
    configs: current.configs.map(({ config, scorer: earlier }) => {
      const scorer = edited?.scorers.get(config) ?? earlier;
      return { config, scorer, version: versionOf(scorer, registry) };
    }),
  };
}

function versionOf({ kind }: ScorerSpec, registry: ScorerRegistry): number {
  const version = registry.get(kind)?.version;
  if (version !== undefined) return version;
  throw new ThriceError({ code: 'unsupported', message: describeUnknownKind(kind, registry) });
}
