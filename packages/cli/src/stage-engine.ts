import { type Closure, laneOf, subjectsOf } from '@thrice/core';
import { type CloudEngine, openStage } from './compose-cloud.ts';
import type { Activity, Counted, Engine } from './engine.ts';
import { type ConfigStatus, hasAllVerdicts } from './group-status.ts';
import { stageFlag } from './place-flags.ts';

/** A deployed stage as an engine to look into, and to set to work. */
export type StageEngine = Engine & CloudEngine;

/**
 * Opens a deployed stage.
 *
 * @throws {ThriceError} `endpoint-unreachable` where there is no such stage.
 */
export async function openStageEngine(name: string): Promise<StageEngine> {
  const cloud = await openStage(name);
  return {
    ...cloud,
    place: `s3://${cloud.stage.bucketName}`,
    flag: stageFlag(name),
    readActivity: (counted) => readStageActivity(cloud, counted),
    publish: (group) => cloud.requests.askForResults(group),
    takeOver: async () => undefined,
    [Symbol.dispose]: () => cloud[Symbol.dispose](),
  };
}

/** What goes on with a group in a stage: who works on it is unseen, so this follows from the counts. */
async function readStageActivity(
  { watchlist }: CloudEngine,
  { header, configs, closures }: Counted,
): Promise<Activity> {
  const open = configs.filter(({ notAttempted }) => notAttempted > 0);
  const modelOf = ({ config }: ConfigStatus) =>
    header.spec.configs.find(({ name }) => name === config)?.model ?? '';
  const lanes = [...Map.groupBy(open, (config) => laneOf(modelOf(config)))].map(
    ([lane, entries]) => ({
      lane,
      left: entries.reduce((sum, { notAttempted }) => sum + notAttempted, 0),
    }),
  );
  if (open.length > 0) {
    return { workers: null, lanes, state: stateOfModels(open.map(modelOf), closures) };
  }
  const watched = await watchlist.listWatched();
  if (watched.some(({ group }) => group === header.group))
    return { workers: null, lanes, state: 'publishing' };
  const isWhole = configs.every(hasAllVerdicts);
  return { workers: null, lanes, state: isWhole ? 'complete' : 'incomplete' };
}

/** What becomes of cells of some models, by what keeps each from being worked on. */
export function stateOfModels(
  models: readonly string[],
  closures: readonly Closure[],
): Activity['state'] {
  const closing = models.map((model) =>
    closures.find(({ subject }) => subjectsOf(model).includes(subject)),
  );
  if (closing.includes(undefined)) return 'running';
  const opensByItself = closing.some((closure) => closure?.error.class === 'exhausted');
  return opensByItself ? 'waiting' : 'paused';
}
