import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type GroupRecord, groupHeaderSchema, groupKey, ThriceError } from '@thrice/core';
import { FileBlobStore, fileSourceReader } from '@thrice/local';
import type { Terminal } from '../shell/terminal.ts';

/** Published files in a folder without a ledger, for example a copy of `runs` and `questions`. */
export interface PublishedGroups extends Disposable {
  readonly blobs: FileBlobStore;
  readonly listGroups: () => Promise<readonly GroupRecord[]>;
}

/** Opens the published files in a folder; undefined if it has a ledger, or no such files. */
export function openPublishedGroups(dir: string, terminal: Terminal): PublishedGroups | undefined {
  const folder = resolve(terminal.workingFolder, dir);
  if (existsSync(join(folder, 'thrice.db')) || !existsSync(join(folder, 'runs'))) return undefined;
  const blobs = new FileBlobStore(folder);
  return {
    blobs,
    listGroups: () => listGroups(folder, blobs),
    [Symbol.dispose]: () => blobs[Symbol.dispose](),
  };
}

async function listGroups(folder: string, blobs: FileBlobStore): Promise<readonly GroupRecord[]> {
  const names = (await fileSourceReader.listFolder(join(folder, 'runs'))) ?? [];
  const groups: GroupRecord[] = [];
  for (const name of names) {
    const key = groupKey(name, 'group.json');
    if (!(await blobs.has(key))) continue;
    const header = parseHeader((await blobs.readText(key)) ?? '', join(folder, key));
    groups.push({ header, state: 'active', isPlanned: true });
  }
  return groups.toSorted((left, right) =>
    left.header.createdAt < right.header.createdAt ? 1 : -1,
  );
}

function parseHeader(text: string, path: string): GroupRecord['header'] {
  try {
    return groupHeaderSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new ThriceError({
      code: 'invalid-file',
      message: `${path}: expected the plan of a group, received something else`,
      cause: error,
    });
  }
}
