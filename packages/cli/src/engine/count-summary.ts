import {
  type BlobStore,
  isPlanned,
  type Ledger,
  type LoadedGroup,
  readRows,
  type Summary,
  SummaryBuilder,
} from '@thrice/core';

/** Computes a group's summary from the ledger, without writing anything. */
export async function countSummary(
  { header, benchmark }: Pick<LoadedGroup, 'header' | 'benchmark'>,
  stores: { readonly ledger: Ledger; readonly blobs: BlobStore },
): Promise<Summary> {
  const builder = new SummaryBuilder(header, benchmark.coverageFloor);
  for (const run of header.runs) {
    for (const config of benchmark.configs) {
      if (!isPlanned(header, config.name)) continue;
      for await (const row of readRows(header, run, config, stores)) builder.add(row);
    }
  }
  return builder.build();
}
