import type { CellRow } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import { type DatasetAverages, datasetAverages } from './dataset-averages.ts';
import { replicateMoments } from './replicate-moments.ts';
import { ReplicateTally } from './replicate-tally.ts';
import { ServedModelTally } from './served-model-tally.ts';
import type { ConfigSummary, Summary } from './summary.ts';
import { TagTally } from './tag-tally.ts';

interface ConfigTallies {
  readonly byRun: Map<string, ReplicateTally>;
  readonly tags: TagTally;
  readonly servedModels: ServedModelTally;
}

/** Builds the summary of a run or of a whole group from rows, in any order of configs and runs. */
export class SummaryBuilder {
  readonly #header: GroupHeader;
  readonly #coverageFloor: number;
  readonly #averagesByDataset: ReadonlyMap<string, DatasetAverages>;
  readonly #byConfig = new Map<string, ConfigTallies>();

  /** @param coverageFloor - The least coverage for a headline score or an average, 0..1. */
  constructor(
    header: GroupHeader,
    coverageFloor: number,
    averagesByDataset: ReadonlyMap<string, DatasetAverages> = datasetAverages,
  ) {
    this.#header = header;
    this.#coverageFloor = coverageFloor;
    this.#averagesByDataset = averagesByDataset;
  }

  add(row: CellRow): void {
    const tallies = this.#byConfig.get(row.config) ?? newTallies();
    this.#byConfig.set(row.config, tallies);
    const replicate = tallies.byRun.get(row.run) ?? new ReplicateTally(row.run);
    tallies.byRun.set(row.run, replicate);
    replicate.add(row);
    tallies.servedModels.add(row);
    tallies.tags.add(row, tallies.byRun.keys().next().value === row.run);
  }

  build(): Summary {
    const header = this.#header;
    return {
      schemaVersion: 1,
      group: header.group,
      benchmark: header.benchmark,
      questions: header.questions.count,
      specSha256: header.specSource.sha256,
      questionsSha256: header.questions.sha256,
      coverageFloor: this.#coverageFloor,
      configs: this.#inPlannedOrder().map(([config, tallies]) => this.#summarize(config, tallies)),
    };
  }

  /** Configs that were written side by side add their first rows in any order. */
  #inPlannedOrder(): readonly (readonly [string, ConfigTallies])[] {
    const names = this.#header.configs.map(({ config }) => config);
    return [...this.#byConfig].toSorted(
      ([left], [right]) => names.indexOf(left) - names.indexOf(right),
    );
  }

  #summarize(config: string, tallies: ConfigTallies): ConfigSummary {
    const replicates = [...tallies.byRun.values()].map((tally) =>
      tally.summarize(this.#coverageFloor),
    );
    const byTag = tallies.tags.summarize();
    const averages = this.#averagesByDataset.get(this.#header.dataset ?? '')?.(byTag) ?? [];
    const isWithheld = replicates.some(({ coverage }) => coverage < this.#coverageFloor);
    return {
      config,
      replicates,
      ...replicateMoments(replicates),
      byTag,
      // An average is a headline too: withhold it below the floor.
      averages: averages.map((each) => (isWithheld ? { ...each, value: null } : each)),
      servedModels: tallies.servedModels.summarize(),
    };
  }
}

function newTallies(): ConfigTallies {
  return { byRun: new Map(), tags: new TagTally(), servedModels: new ServedModelTally() };
}
