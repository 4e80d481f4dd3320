import {
  type CellRow,
  isPlanned,
  type LoadedGroup,
  metricsByConfig,
  type RowStores,
  readRowsTogether,
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
  const planned = configs.filter(({ name }) => isPlanned(header, name));
  const cells = header.runs.flatMap((run) => planned.map((config) => ({ run, config })));
  for await (const { row } of readRowsTogether(header, cells, stores)) {
    builder.add(row);
    onRow(row);
  }
  return builder.build();
}
