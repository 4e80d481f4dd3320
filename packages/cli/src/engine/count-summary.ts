import {
  type BlobStore,
  type GroupHeader,
  isPlanned,
  type Ledger,
  readRows,
  resolveBenchmark,
  type Summary,
  SummaryBuilder,
} from '@thrice/core';

/** Computes a group's summary from the ledger, without writing anything. */
export async function countSummary(
  header: GroupHeader,
  stores: { readonly ledger: Ledger; readonly blobs: BlobStore },
): Promise<Summary> {
  const benchmark = resolveBenchmark(header.spec, header.specSource.path);
  const builder = new SummaryBuilder(header, benchmark.coverageFloor);
  for (const run of header.runs) {
    for (const config of benchmark.configs) {
      if (!isPlanned(header, config.name)) continue;
      for await (const row of readRows(header, run, config, stores)) builder.add(row);
    }
  }
  return builder.build();
}
