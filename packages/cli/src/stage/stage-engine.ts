import { breakersFor, laneOf, type OpenBreaker, toOpenBreakers } from '@thrice/core';
import type { Activity, Counted, Engine } from '../engine/engine.ts';
import { areAllScored, type ConfigStatus } from '../engine/group-status.ts';
import { stageFlag } from '../shell/place-flags.ts';
import { type CloudEngine, openStage } from './compose-cloud.ts';

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
    publish: (group) => cloud.requests.requestResults(group),
    takeOver: async () => undefined,
    [Symbol.dispose]: () => cloud[Symbol.dispose](),
  };
}

/** What goes on with a group in a stage: who works on it is unseen, so this follows from the counts. */
async function readStageActivity(
  { activeGroups }: CloudEngine,
  { header, configs, openBreakers }: Counted,
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
    return { workers: null, lanes, state: stateOfModels(open.map(modelOf), openBreakers) };
  }
  const activeGroup = await activeGroups.list();
  if (activeGroup.some(({ group }) => group === header.group))
    return { workers: null, lanes, state: 'publishing' };
  const isWhole = configs.every(areAllScored);
  return { workers: null, lanes, state: isWhole ? 'complete' : 'incomplete' };
}

/** What becomes of cells of some models, by what keeps each from being worked on. */
export function stateOfModels(
  models: readonly string[],
  openBreakers: readonly OpenBreaker[],
): Activity['state'] {
  const open = toOpenBreakers(openBreakers);
  const blocking = models.map((model) => breakersFor(model, open)[0]);
  if (blocking.includes(undefined)) return 'running';
  const opensByItself = blocking.some((breaker) => breaker?.error.class === 'exhausted');
  return opensByItself ? 'waiting' : 'paused';
}
