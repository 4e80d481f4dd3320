import type { BlobStore, Clock, GroupHeader, Ledger, OpenBreaker } from '@thrice/core';
import { openExistingEngine } from '../local/compose-local.ts';
import { readLocalActivity } from '../local/local-activity.ts';
import { folderFlag } from '../shell/place-flags.ts';
import type { Terminal } from '../shell/terminal.ts';
import type { ConfigStatus, GroupStatus } from './group-status.ts';

/** Options that say where a group is. */
export interface EngineOptions {
  readonly dir: string;
  /** A deployed stage instead of a folder. */
  readonly stage?: string;
}

/** What the records of a group say; {@link Engine.readActivity} adds what goes on now. */
export interface Counted {
  readonly header: GroupHeader;
  readonly configs: readonly ConfigStatus[];
  readonly openBreakers: readonly OpenBreaker[];
}

/** What goes on with a group that is planned and not cancelled. */
export type Activity = Pick<GroupStatus, 'workers' | 'lanes' | 'state'>;

/** An engine as commands look into it, wherever it is. */
export interface Engine extends Disposable {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  /** Where its files are, for people: a folder or `s3://bucket`. */
  readonly place: string;
  /** ` --stage NAME` or ` --dir FOLDER` for commands that we propose; empty for the default. */
  readonly flag: string;
  readActivity(counted: Counted): Promise<Activity>;
  /** Asks for the results of a group as they stand, where no process of this machine writes them. */
  publish(group: string): Promise<void>;
  /** Frees what dead workers held, where that is a command's business. */
  takeOver(): Promise<void>;
}

/**
 * Opens the engine that a command's options name.
 *
 * @throws {ThriceError} `unknown-group` when the folder holds no runs, `endpoint-unreachable` where there
 *   is no such stage.
 */
export async function openEngine(options: EngineOptions, terminal: Terminal): Promise<Engine> {
  if (options.stage !== undefined) {
    // Loaded only here: one machine needs nothing of the AWS SDK.
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
    readActivity: (counted) => readLocalActivity(engine, counted),
    publish: async () => undefined,
    takeOver: async () => {
      await engine.workers.takeOver();
    },
    [Symbol.dispose]: () => engine[Symbol.dispose](),
  };
}
