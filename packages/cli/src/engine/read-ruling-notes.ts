import { type BlobStore, groupKey, rulingNotes, summarySchema } from '@thrice/core';

/** Says which cells the published results of a group count by a ruling; nothing without results of this version. */
export async function readRulingNotes(
  group: string,
  blobs: Pick<BlobStore, 'readText'>,
): Promise<readonly string[]> {
  const text = await blobs.readText(groupKey(group, 'summary.json'));
  const { data: summary } = summarySchema.safeParse(JSON.parse(text ?? 'null'));
  return summary === undefined ? [] : rulingNotes(summary);
}
