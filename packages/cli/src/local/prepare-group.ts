import { dirname, isAbsolute, join } from 'node:path';
import {
  type Benchmark,
  type BlobStore,
  type Grading,
  type GroupHeader,
  type LoadedGroup,
  type Question,
  readGradings,
  readStoredQuestions,
  ThriceError,
  withCurrentGrading,
  withSimulator,
} from '@thrice/core';
import { fileSourceReader, type LocalEngine } from '@thrice/local';
import type { Simulator } from '@thrice/simulator';
import { simulatedQuestions, startBundledSimulator } from '../spec/bundled-simulator.ts';

/** A stored group prepared for more work. */
export interface PreparedGroup extends AsyncDisposable {
  readonly benchmark: Benchmark;
}

/**
 * Prepares a stored group for more work: checks its sources, starts its simulator.
 *
 * @param parallel - Overrides the spec's.
 * @throws {ThriceError} `spec-changed` when the spec or a questions file changed after planning.
 */
export async function prepareGroup(
  { header, benchmark: stored }: LoadedGroup,
  engine: LocalEngine,
  parallel?: number,
): Promise<PreparedGroup> {
  await refuseChanges(header, await readGradings(header, stored, engine.blobs));
  const file = header.specSource.path;
  const resolvePath = (path: string) => (isAbsolute(path) ? path : join(dirname(file), path));
  // Reads the stored questions: the files they came from may be on another machine.
  const source = { read: () => storedQuestions(header, engine.blobs) };
  const simulator: Simulator | undefined = await startBundledSimulator(
    header.spec,
    () => simulatedQuestions(source),
    resolvePath,
  );
  const graded = await withCurrentGrading(header, stored, engine.blobs);
  const own = { ...graded, ...(parallel !== undefined && { parallel }) };
  const benchmark = withSimulator(own, simulator?.url);
  return {
    benchmark,
    [Symbol.asyncDispose]: async () => {
      await simulator?.close();
    },
  };
}

async function* storedQuestions(header: GroupHeader, blobs: BlobStore): AsyncIterable<Question> {
  for await (const { question } of readStoredQuestions(header, blobs)) yield question;
}

/**
 * Refuses a group whose files changed after planning: mixed results would belong to no benchmark. The spec may
 * be that of a rescore, which differs only in scorers. Files that cannot be read here are on another machine;
 * the stored plan does not need them.
 */
async function refuseChanges(
  { group, specSource, questionSources }: GroupHeader,
  gradings: readonly Grading[],
): Promise<void> {
  const rescored = new Set(gradings.map(({ specSha256 }) => specSha256));
  for (const source of [specSource, ...questionSources]) {
    const { path, sha256 } = source;
    const current = await fileSourceReader.digestFile(path).catch(() => undefined);
    if (current === undefined || current === sha256) continue;
    if (source === specSource && rescored.has(current)) continue;
    throw new ThriceError({
      code: 'spec-changed',
      message: `${path}: changed since ${group} was planned (expected sha256 ${sha256.slice(0, 12)}, received ${current.slice(0, 12)}); restore it, or start a new group with "thrice run"`,
    });
  }
}
