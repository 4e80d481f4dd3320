import { type SourceReader, ThriceError } from '@thrice/core';
import { fileSourceReader } from './file-source-reader.ts';
import { isHubPath } from './hub/hub-path.ts';
import type { Environment } from './hub/hub-settings.ts';

/**
 * Opens a reader of local files and of `hf://datasets/...`, which are downloaded when they are first read.
 *
 * @param onDownload - Is told of each file before its download.
 */
export function openSources(
  environment: Environment,
  onDownload: (path: string, bytes: number) => void,
): SourceReader {
  const openHub = memoize(async () => {
    const { HubDatasets } = await import('./hub/hub-datasets.ts');
    return new HubDatasets(environment, onDownload);
  });
  const localPath = async (path: string): Promise<string> => {
    if (isHubPath(path)) return await (await openHub()).fetchFile(path);
    if (isAddress(path)) throw otherAddress(path);
    return path;
  };
  return {
    async *readLines(path) {
      yield* fileSourceReader.readLines(await localPath(path));
    },
    readStart: async (path) => await fileSourceReader.readStart(await localPath(path)),
    async *readTable(path, columns) {
      yield* fileSourceReader.readTable(await localPath(path), columns);
    },
    readText: async (path) => await fileSourceReader.readText(await localPath(path)),
    listFolder: async (path) =>
      isHubPath(path)
        ? await (await openHub()).listFolder(path)
        : await fileSourceReader.listFolder(path),
    digestFile: async (path) => await fileSourceReader.digestFile(await localPath(path)),
    digestText: (text) => fileSourceReader.digestText(text),
  };
}

/** Whether a path is an address, as in `hf://...`, rather than a path on this disk. */
export function isAddress(path: string): boolean {
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(path);
}

function otherAddress(path: string): ThriceError {
  const [, dataset, file = ''] =
    /^https:\/\/huggingface\.co\/datasets\/([\w.-]+\/[\w.-]+)(?:\/(?:blob|resolve|tree)\/[^/]+(\/[^?#]*)?)?/.exec(
      path,
    ) ?? [];
  const remedy =
    dataset === undefined
      ? 'download it, and give the path of the file'
      : `write it as hf://datasets/${dataset}${file}`;
  return new ThriceError({
    code: 'invalid-file',
    message: `${path}: expected a file on this disk or hf://datasets/..., received another address; ${remedy}`,
  });
}

function memoize<T>(create: () => Promise<T>): () => Promise<T> {
  let created: Promise<T> | undefined;
  return () => {
    created ??= create();
    return created;
  };
}
