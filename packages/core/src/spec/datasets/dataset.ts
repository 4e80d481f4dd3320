import type { ConfigSpec } from '../../domain/benchmark-spec.ts';
import type { Question } from '../../domain/question.ts';
import type { ScorerSpec } from '../../domain/scorer.ts';
import type { SourceReader } from '../../ports/source-reader.ts';

/** Where a dataset is, and which part of it is wanted. */
export interface DatasetPlace {
  /** A folder in the layout of the dataset, or one file of it. */
  readonly path: string;
  /** One of its subsets, which Hugging Face calls configs. @default the dataset's own */
  readonly subset?: string | undefined;
  /** @default the dataset's own, usually `test` */
  readonly split?: string | undefined;
}

/** How the questions of a dataset are asked and graded where a config does not say it. */
export interface DatasetDefaults {
  readonly system?: string;
  /** A template; without one, a question is sent as it is, with its choices. */
  readonly prompt?: string;
  /** How the confidence is read that the prompt asks for. @default it asks for none */
  readonly parser?: ConfigSpec['parser'];
  readonly scorer: ScorerSpec;
}

/** A published dataset that is read from a folder in its own layout. */
export interface Dataset {
  /** The name in a spec: `questions = { dataset = "...", path = "..." }`. */
  readonly name: string;
  /** The id of the dataset on Hugging Face; undefined if it is read from elsewhere only. */
  readonly repository: string | undefined;
  readonly defaults: DatasetDefaults;
  /** Lists the files that the questions are read from, for their digests. */
  files(place: DatasetPlace, reader: SourceReader): Promise<readonly string[]>;
  /**
   * Streams the questions, in the same order each time.
   *
   * @throws {ThriceError} `unknown-dataset` if the folder does not hold the dataset;
   *   `invalid-question` for a malformed file.
   */
  load(place: DatasetPlace, reader: SourceReader): AsyncIterable<Question>;
}

/** Datasets by name, in the order in which errors and the JSON Schema list them. */
export type DatasetRegistry = ReadonlyMap<string, Dataset>;

/** Registers datasets under their names. */
export function createDatasetRegistry(datasets: readonly Dataset[]): DatasetRegistry {
  return new Map(datasets.map((dataset) => [dataset.name, dataset]));
}
