import * as z from 'zod';
import { ThriceError } from '../errors.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { CreateDigest } from '../ports/digest.ts';
import { type ComparedConfig, compareConfigs } from './compare-configs.ts';
import { type ComparedSide, type Comparison, comparisonSchema } from './comparison.ts';

/** `comparisons.json` of a group: what was saved of comparisons in which it stands first, by name. */
const savedSchema = z.strictObject({
  schemaVersion: z.literal(1),
  group: z.string(),
  comparisons: z.record(z.string(), comparisonSchema),
});

/** Key of the saved comparisons of a group. */
export function comparisonsKey(group: string): string {
  return `runs/${group}/comparisons.json`;
}

/**
 * Reads the saved comparisons of a group, by name.
 *
 * @throws {ThriceError} `invalid-file` for a damaged file.
 */
export async function readSavedComparisons(
  group: string,
  blobs: Pick<BlobStore, 'readText'>,
): Promise<Readonly<Record<string, Comparison>>> {
  const key = comparisonsKey(group);
  const text = await blobs.readText(key);
  if (text === undefined) return {};
  try {
    return savedSchema.parse(JSON.parse(text)).comparisons;
  } catch (cause) {
    throw new ThriceError({
      code: 'invalid-file',
      message: `${key}: expected saved comparisons, the file is damaged; delete it, and save them again`,
      cause,
    });
  }
}

/** Saves a comparison beside the results of its first group, where `verify` computes it again. One of the same name is replaced. */
export async function saveComparison(
  name: string,
  comparison: Comparison,
  blobs: Pick<BlobStore, 'readText' | 'write'>,
): Promise<void> {
  const group = comparison.pairs[0]?.a.group ?? '';
  const comparisons = { ...(await readSavedComparisons(group, blobs)), [name]: comparison };
  const saved = { schemaVersion: 1, group, comparisons };
  await blobs.write(comparisonsKey(group), [`${JSON.stringify(saved, null, 2)}\n`]);
}

/**
 * Computes a saved comparison again from the rows of its configs.
 *
 * @param find - Finds a config under the grading that was compared.
 */
export async function repeatComparison(
  saved: Comparison,
  find: (side: ComparedSide) => Promise<ComparedConfig>,
  createDigest: CreateDigest,
): Promise<Comparison> {
  const { figure, margin, tag, pairs } = saved;
  const known = new Map<string, ComparedConfig>();
  const findOnce = async (side: ComparedSide) => {
    const key = JSON.stringify(side);
    const config = known.get(key) ?? (await find(side));
    known.set(key, config);
    return config;
  };
  const found: [ComparedConfig, ComparedConfig][] = [];
  for (const { a, b } of pairs) found.push([await findOnce(a), await findOnce(b)]);
  const request = {
    figure,
    ...(tag !== null && { tag }),
    ...(margin !== null && { margin }),
    allowsOtherTexts: pairs.some(({ otherTexts }) => otherTexts > 0),
  };
  return await compareConfigs(found, request, createDigest);
}
