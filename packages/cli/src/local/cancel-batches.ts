import { LaneHealth, type LoadedGroup } from '@thrice/core';
import { GroupBatches, type LocalEngine } from '@thrice/local';
import type { Terminal } from '../shell/terminal.ts';
import { openModels } from './compose-local.ts';

/** Asks the vendors to stop the batches of a group that no process looks after. */
export async function cancelBatches(
  { header, benchmark }: LoadedGroup,
  engine: LocalEngine,
  terminal: Terminal,
): Promise<void> {
  if ((await engine.batches.list(header.group)).length === 0) return;
  await using models = openModels(terminal);
  const { batchClientFor } = models;
  const batches = new GroupBatches({
    options: { engine, header, benchmark, batchClientFor },
    queue: engine.queueOf(header.group),
    // What the journal says is counted when the group is resumed.
    budget: undefined,
    laneHealth: new LaneHealth({ clock: engine.clock, random: Math.random }),
    observe: () => undefined,
    isBlocked: () => false,
    onProgress: () => undefined,
  });
  await batches.cancelAll();
}
