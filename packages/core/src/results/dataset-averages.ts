import { bbhAverages } from './bbh-averages.ts';
import type { ConfigSummary, NamedAverage } from './summary.ts';

/** Computes the averages of a dataset from the summaries of its tag values, by tag and value. */
export type DatasetAverages = (byTag: ConfigSummary['byTag']) => NamedAverage[];

/** The averages that summaries show, by dataset name; other datasets have none. */
export const datasetAverages: ReadonlyMap<string, DatasetAverages> = new Map([
  ['bbh', (byTag: ConfigSummary['byTag']) => bbhAverages(byTag['subtask'] ?? {})],
]);
