import type { Question } from '../../domain/question.ts';
import type { SourceReader } from '../../ports/source-reader.ts';

/** A published dataset that is read from a folder in its own layout. */
export interface Dataset {
  /** The name in a spec: `questions = { dataset = "...", path = "..." }`. */
  readonly name: string;
  /** Lists the files that the questions are read from, for their digests. */
  files(folder: string, reader: SourceReader): Promise<readonly string[]>;
  /**
   * Streams the questions, in the same order each time.
   *
   * @throws {ThriceError} `unknown-dataset` if the folder does not hold the dataset;
   *   `invalid-question` for a malformed file.
   */
  load(folder: string, reader: SourceReader): AsyncIterable<Question>;
}

/** Datasets by name, in the order in which errors and the JSON Schema list them. */
export type DatasetRegistry = ReadonlyMap<string, Dataset>;

/** Registers datasets under their names. */
export function createDatasetRegistry(datasets: readonly Dataset[]): DatasetRegistry {
  return new Map(datasets.map((dataset) => [dataset.name, dataset]));
}
