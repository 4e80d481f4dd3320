import type { BlobStore, Clock, GroupHeader, Ledger, OpenBreaker } from '@thrice/core';
import { openExistingEngine } from '../local/compose-local.ts';
import { readLocalActivity } from '../local/local-activity.ts';
import { folderFlag } from '../shell/place-flags.ts';
import type { Terminal } from '../shell/terminal.ts';
import type { ConfigStatus, GroupStatus } from './group-status.ts';

/** Options that locate a group. */
export interface EngineOptions {
  readonly dir: string;
  /** A deployed stage, used instead of the folder. */
  readonly stage?: string;
}

/** Counts from a group's records; {@link Engine.readActivity} adds its current activity. */
export interface GroupCounts {
  readonly header: GroupHeader;
  readonly configs: readonly ConfigStatus[];
  readonly openBreakers: readonly OpenBreaker[];
}

/** The current activity of a group that is planned and not cancelled. */
export type Activity = Pick<GroupStatus, 'workers' | 'lanes' | 'state'>;

/** A local or cloud engine, as the commands see it. */
export interface Engine extends Disposable {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  /** Where its files are, as shown to users: a folder or `s3://bucket`. */
  readonly place: string;
  /** Flag of suggested commands: ` --stage NAME`, ` --dir FOLDER`, or empty for the default folder. */
  readonly flag: string;
  readActivity(counts: GroupCounts): Promise<Activity>;
  /** Requests the current results of a group in a stage. Locally a no-op: processes write them. */
  publish(group: string): Promise<void>;
  /** Takes over the cells of dead local processes. In a stage a no-op: leases expire by themselves. */
  takeOver(): Promise<void>;
}

/**
 * Opens the engine that a command's options name.
 *
 * @throws {ThriceError} `unknown-group` when the folder holds no runs, `endpoint-unreachable` when the
 *   stage does not exist.
 */
export async function openEngine(options: EngineOptions, terminal: Terminal): Promise<Engine> {
  if (options.stage !== undefined) {
    // Loaded on demand: the local engine does not need the AWS SDK.
    const { openStageEngine } = await import('../stage/stage-engine.ts');
    return await openStageEngine(options.stage);
  }
  const engine = openExistingEngine(options.dir, terminal);
  const { clock, ledger, blobs, folder: place } = engine;
  return {
    clock,
    ledger,
    blobs,
    place,
    flag: folderFlag(options.dir),
    readActivity: (counts) => readLocalActivity(engine, counts),
    publish: async () => undefined,
    takeOver: async () => {
      await engine.workers.takeOver();
    },
    [Symbol.dispose]: () => engine[Symbol.dispose](),
  };
}
