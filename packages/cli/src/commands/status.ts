import { type EngineOptions, openEngine } from '../engine/engine.ts';
import { findGroup, newestGroup } from '../engine/find-group.ts';
import { describeStatus, type GroupStatus } from '../engine/group-status.ts';
import { LiveBlock } from '../render/live-block.ts';
import { RateMeter } from '../render/rate-meter.ts';
import { renderStatus } from '../render/status-view.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import type { Terminal } from '../shell/terminal.ts';

/** Options of `thrice status`. */
export interface StatusOptions extends EngineOptions {
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** How often a watched group is looked at, ms. */
const WATCH_MS = 1_000;

/** `thrice status`: where a group stands; with `--watch` until nobody works on it any more. */
export async function showStatus(
  terminal: Terminal,
  name: string | undefined,
  options: StatusOptions,
): Promise<ExitCode> {
  using engine = await openEngine(options, terminal);
  const found =
    name === undefined
      ? await newestGroup(engine.ledger)
      : await findGroup(engine.ledger, name, engine.flag);
  const look = async (): Promise<GroupStatus> => {
    const current = (await engine.ledger.readGroup(found.header.group)) ?? found;
    return await describeStatus(current, engine);
  };
  let status = await look();
  let isInterrupted = false;
  if (options.watch === true) {
    using signals = listenForStop();
    const block = new LiveBlock(terminal);
    const meter = new RateMeter();
    let shown: string | undefined;
    while (isOngoing(status) && !signals.drain.aborted) {
      meter.add(engine.clock.now(), status.done);
      // A log gets only news, a terminal the time that passes too.
      const news = JSON.stringify(status);
      if (terminal.isInteractive || news !== shown) {
        block.show(renderStatus(status, meter.perSecond()));
      }
      shown = news;
      await engine.clock.sleep(WATCH_MS, signals.drain);
      await engine.takeOver();
      status = await look();
    }
    block.end();
    isInterrupted = signals.drain.aborted;
  }
  if (options.json === true) terminal.print(JSON.stringify(status, null, 2));
  else terminal.print(renderStatus(status, undefined));
  return isInterrupted ? exitCodes.interrupted : exitCodes.complete;
}

/** Whether somebody works on a group or will by himself. A local plan is its process's own business. */
function isOngoing({ state, workers }: GroupStatus): boolean {
  if (state === 'planning') return workers === null;
  return state === 'running' || state === 'waiting' || state === 'publishing';
}
