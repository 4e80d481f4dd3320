import { type BlobStore, groupKey } from '@thrice/core';

/** Whether results of a group were ever written: a process may be killed after the last cell, before it writes them. */
export async function isPublished(
  group: string,
  { blobs }: { readonly blobs: Pick<BlobStore, 'has'> },
): Promise<boolean> {
  return await blobs.has(groupKey(group, 'summary.json'));
}
