import type { ComparedConfig } from '../compare/compare-configs.ts';
import type { ComparedSide } from '../compare/comparison.ts';
import {
  comparisonsKey,
  readSavedComparisons,
  repeatComparison,
} from '../compare/saved-comparisons.ts';
import type { GroupHeader } from '../domain/group.ts';
import { groupHeaderSchema } from '../domain/group.ts';
import { ThriceError, toThriceError } from '../errors.ts';
import { readConfigRows } from '../results/read-rows.ts';
import { benchmarkOf } from '../spec/load-group.ts';
import { gradedGroupOf } from './graded-group.ts';
import { readGradings } from './gradings.ts';
import { readPublishedRows } from './read-published-rows.ts';
import type { VerifyStores } from './row-check.ts';
import type { VerificationReport } from './verification-report.ts';

/** Computes the saved comparisons of a group again, from the rows of the ledger, or from the published ones without one. */
export async function checkComparisons(
  header: GroupHeader,
  stores: VerifyStores,
  report: VerificationReport,
): Promise<void> {
  const key = comparisonsKey(header.group);
  try {
    const saved = await readSavedComparisons(header.group, stores.blobs);
    for (const [name, comparison] of Object.entries(saved)) {
      const find = async (side: ComparedSide) => await findSide(side, header, stores);
      const found = await repeatComparison(comparison, find, stores.createDigest);
      report.compareLeaves(`${key}: ${name}`, comparison, found, 'its rows give');
    }
  } catch (error) {
    report.add(`${key}: ${toThriceError(error).message}`);
  }
}

async function findSide(
  { group, runs, config: name, grading }: ComparedSide,
  own: GroupHeader,
  stores: VerifyStores,
): Promise<ComparedConfig> {
  const { ledger, blobs, scorers } = stores;
  const header = group === own.group ? own : await readHeader(group, stores);
  const benchmark = header && benchmarkOf(header);
  const gradings = header && (await readGradings(header, blobs));
  const graded =
    header && benchmark && gradings && gradedGroupOf(header, benchmark, gradings, grading);
  const config = graded?.benchmark.configs.find((each) => each.name === name);
  if (graded === undefined || config === undefined || header === undefined) {
    throw new ThriceError({
      code: 'unknown-group',
      message: `expected config ${name} of ${group}, which was compared; found none`,
    });
  }
  return {
    ...{ group: { header, benchmark: graded.benchmark }, config, runs, scorers },
    readRows: (read) =>
      ledger === undefined
        ? readPublishedRows(graded, read, config, blobs)
        : readConfigRows(header, read, config, { ...stores, ledger }),
  };
}

/** The plan of another group. */
async function readHeader(
  group: string,
  { ledger, blobs }: VerifyStores,
): Promise<GroupHeader | undefined> {
  if (ledger !== undefined) return (await ledger.readGroup(group))?.header;
  const text = await blobs.readText(`runs/${group}/group.json`);
  return text === undefined ? undefined : groupHeaderSchema.parse(JSON.parse(text));
}
