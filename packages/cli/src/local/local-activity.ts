import type { LocalEngine } from '@thrice/local';
import type { Activity, GroupCounts } from '../engine/engine.ts';
import { areAllScored } from '../engine/group-status.ts';

/** Derives the activity of a group on this machine from its processes and the tasks left in its queue. */
export async function readLocalActivity(
  engine: LocalEngine,
  { header, configs }: GroupCounts,
): Promise<Activity> {
  const backlog = await engine.queueOf(header.group).readBacklog();
  const lanes = [...Map.groupBy(backlog, ({ lane }) => lane)].map(([lane, entries]) => ({
    lane,
    left: entries.reduce((sum, { count }) => sum + count, 0),
  }));
  const workers = engine.workers.countOthers(header.group, engine.clock.now());
  const isLeft = lanes.some(({ left }) => left > 0);
  if (workers > 0) return { workers, lanes, state: 'running' };
  if (isLeft) return { workers, lanes, state: 'paused' };
  return { workers, lanes, state: configs.every(areAllScored) ? 'complete' : 'incomplete' };
}
