import {
  type CellRow,
  isPlanned,
  type LoadedGroup,
  metricsByConfig,
  type RowStores,
  readRows,
  type Summary,
  SummaryBuilder,
  withCurrentGrading,
} from '@thrice/core';

/**
 * Computes a group's summary from the ledger under its current grading, without writing anything.
 *
 * @param onRow - Called with each row. @default nothing is
 */
export async function countSummary(
  { header, benchmark }: Pick<LoadedGroup, 'header' | 'benchmark'>,
  stores: RowStores,
  onRow: (row: CellRow) => void = () => undefined,
): Promise<Summary> {
  const { configs } = await withCurrentGrading(header, benchmark, stores.blobs);
  const builder = new SummaryBuilder(header, benchmark.coverageFloor, {
    metrics: metricsByConfig(configs, stores.scorers),
    rulings: configs[0]?.rulings,
  });
  for (const run of header.runs) {
    for (const config of configs) {
      if (!isPlanned(header, config.name)) continue;
      for await (const row of readRows(header, run, config, stores)) {
        builder.add(row);
        onRow(row);
      }
    }
  }
  return builder.build();
}
