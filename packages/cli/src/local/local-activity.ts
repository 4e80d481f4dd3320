import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { groupKey, type LaneWait } from '@thrice/core';
import type { LocalEngine } from '@thrice/local';
import { areAllBlocked } from '../engine/are-all-blocked.ts';
import { countLeft } from '../engine/count-left.ts';
import type { Activity, GroupCounts } from '../engine/engine.ts';
import { areAllScored, type LaneStatus } from '../engine/group-status.ts';

/** Derives the activity of a group on this machine from its processes and the tasks left in its queue. */
export async function readLocalActivity(
  engine: LocalEngine,
  counts: GroupCounts,
): Promise<Activity> {
  const { header, configs } = counts;
  const waits = engine.workers.waitsOfOthers(header.group);
  const lanes = countLeft(counts).map(({ lane, left }) => ({
    lane,
    left,
    wait: latestWait(waits.filter(({ breakerKey }) => breakerKey === lane)),
  }));
  const workers = engine.workers.countOthers(header.group, engine.clock.now());
  const activity = { workers, lanes, resends: [] };
  const backlog = await engine.queueOf(header.group).readBacklog();
  if (workers > 0) {
    const isDone = configs.every(({ notAttempted }) => notAttempted === 0);
    return { ...activity, state: isDone ? 'publishing' : 'running' };
  }
  // The task of a done cell is left if its process died right after it.
  if (backlog.length > 0) {
    // A process that ends in order because all is blocked leaves the registry.
    const isPaused = areAllBlocked(counts) && !engine.workers.hasDeadWorker(header.group);
    return { ...activity, state: isPaused ? 'paused' : 'interrupted' };
  }
  // Killed after its last cell, before its results were written.
  const isPublished = existsSync(join(engine.folder, groupKey(header.group, 'summary.json')));
  if (!isPublished) return { ...activity, state: 'interrupted' };
  return { ...activity, state: configs.every(areAllScored) ? 'complete' : 'incomplete' };
}

/** What the processes wait for longest. */
function latestWait(waits: readonly LaneWait[]): LaneStatus['wait'] {
  const [latest] = waits.toSorted((a, b) => b.until.localeCompare(a.until));
  return latest === undefined ? null : { until: latest.until, reason: latest.reason };
}
