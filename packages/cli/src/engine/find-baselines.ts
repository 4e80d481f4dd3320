import {
  type BaselineStores,
  type ConfigBaselines,
  compareWithBaselines,
  countBaselines,
  type LoadedGroup,
  type Summary,
  withCurrentGrading,
} from '@thrice/core';
import type { Engine } from './engine.ts';

/** Compares the configs of a summary with ways of answering that need no model, by the current grading of their group. */
export async function findBaselines(
  { header, benchmark }: Pick<LoadedGroup, 'header' | 'benchmark'>,
  summary: Summary,
  stores: BaselineStores & Pick<Engine, 'blobs'>,
): Promise<readonly ConfigBaselines[]> {
  const { configs } = await withCurrentGrading(header, benchmark, stores.blobs);
  return compareWithBaselines(summary, await countBaselines(header, configs, stores));
}
