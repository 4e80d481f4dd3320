import { blockersOf, isOutage, modelsOf, type OpenBreaker, toOpenBreakers } from '@thrice/core';
import { countLeft } from '../engine/count-left.ts';
import type { Activity, Engine, GroupCounts } from '../engine/engine.ts';
import { areAllScored, type ConfigStatus } from '../engine/group-status.ts';
import { stageFlag } from '../shell/place-flags.ts';
import { type CloudEngine, openStage } from './compose-cloud.ts';
import { readPaceLimits } from './lane-pace-status.ts';

/** A deployed stage that commands inspect and control. */
export type StageEngine = Engine & CloudEngine;

/**
 * Opens a deployed stage.
 *
 * @throws {ThriceError} `endpoint-unreachable` when the stage does not exist.
 */
export async function openStageEngine(name: string): Promise<StageEngine> {
  const cloud = await openStage(name);
  return {
    ...cloud,
    stageLists: cloud,
    place: `s3://${cloud.stage.bucketName}`,
    flag: stageFlag(name),
    readActivity: (counts) => readStageActivity(cloud, counts),
    publish: (group) => cloud.requests.requestResults({ v: 1, group }),
    takeOver: async () => undefined,
    [Symbol.dispose]: () => cloud[Symbol.dispose](),
  };
}

/** The age of a note that says nothing about the present any more, ms. */
const OLD_NOTE_MS = 2 * 3_600_000;

/** Derives the activity of a group in a stage from its counts: its workers are not visible. */
export async function readStageActivity(
  stage: Pick<CloudEngine, 'activeGroups' | 'resendNotes' | 'lanePaces' | 'clock'>,
  { header, configs, openBreakers }: GroupCounts,
): Promise<Activity> {
  const { activeGroups, resendNotes, clock } = stage;
  const unfinished = configs.filter(({ notAttempted }) => notAttempted > 0);
  const modelsOfConfig = ({ config }: ConfigStatus) => {
    const spec = header.spec.configs.find(({ name }) => name === config);
    return spec === undefined ? [] : modelsOf(spec, header.keys);
  };
  const lanes = await Promise.all(
    countLeft({ header, configs }).map(async (each) => ({
      ...each,
      wait: null,
      limits: each.left === 0 ? null : await readPaceLimits(stage, each.lane),
    })),
  );
  if (unfinished.length > 0) {
    const notedAfter = clock.toIso(clock.now() - OLD_NOTE_MS);
    const resends = (await resendNotes.list(header.group)).filter(
      ({ config, at }) => at >= notedAfter && unfinished.some((other) => other.config === config),
    );
    const state = stateOfModels(unfinished.map(modelsOfConfig), openBreakers);
    return { workers: null, lanes, state, resends, budget: null };
  }
  const isActive = (await activeGroups.find(header.group)) !== undefined;
  if (isActive) return { workers: null, lanes, state: 'publishing', resends: [], budget: null };
  const isWhole = configs.every(areAllScored);
  return {
    workers: null,
    lanes,
    state: isWhole ? 'complete' : 'incomplete',
    resends: [],
    budget: null,
  };
}

/**
 * Returns the state of a group by the open breakers.
 *
 * @param models - Those that the cells of each unfinished config may call.
 */
export function stateOfModels(
  models: readonly (readonly string[])[],
  openBreakers: readonly OpenBreaker[],
): Activity['state'] {
  const open = toOpenBreakers(openBreakers);
  const blocking = models.map((each) => blockersOf(each, open)[0]);
  if (blocking.includes(undefined)) return 'running';
  const unblocksByItself = blocking.some(
    (breaker) =>
      breaker !== undefined && (isOutage(breaker) || breaker.error.class === 'exhausted'),
  );
  return unblocksByItself ? 'waiting' : 'paused';
}
