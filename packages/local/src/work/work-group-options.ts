import type {
  BatchClientFor,
  Benchmark,
  BudgetRefusal,
  CellKey,
  ClientFor,
  GroupHeader,
  LaneGovernor,
  LaneWait,
  OpenBreaker,
  Random,
  ScorerRegistry,
  SolverRegistry,
  UserCode,
  WorkerEvent,
} from '@thrice/core';
import type { LocalEngine } from '../local-engine.ts';
import type { WriteProblem } from '../store/map-sqlite-error.ts';
import type { TaskScope } from '../store/sqlite-task-queue.ts';

/** What {@link workGroup} works on, and what the work needs. */
export interface WorkGroupOptions {
  readonly engine: LocalEngine;
  readonly header: GroupHeader;
  /** Whether all tasks of the group were sent. If not, the work begins with the first while the rest is sent. */
  readonly isPlanned: boolean;
  readonly benchmark: Benchmark;
  readonly clientFor: ClientFor;
  readonly batchClientFor: BatchClientFor;
  readonly random: Random;
  /** @default the built-in solvers */
  readonly solvers?: SolverRegistry | undefined;
  /** @default the built-in scorers */
  readonly scorers?: ScorerRegistry | undefined;
  readonly userCode: UserCode;
  /** Grants permits for the calls; closed when the work stops early. */
  readonly governor: LaneGovernor;
  readonly observe: (event: WorkEvent) => void;
  /** The part of the group to work on. */
  readonly scope: TaskScope;
  /** Wait for exhausted lanes instead of ending as paused. */
  readonly waitForQuota: boolean;
  /** Aborts to start no more cells and finish those in flight. */
  readonly drainSignal: AbortSignal;
  /** Aborts to cancel the calls in flight as well. */
  readonly stopSignal: AbortSignal;
  /** Keys of breakers that are half-open from the start. @default none */
  readonly halfOpen?: ReadonlySet<string> | undefined;
  /** Called with the ending while this process still counts as one that works on the group. */
  readonly onEnd?: ((ending: Ending) => Promise<void>) | undefined;
}

/** How the work on a group ended. */
export type Ending =
  /** All tasks are done. */
  | { readonly kind: 'complete' }
  /** The remaining tasks wait for a blocked lane or model, or for a larger budget. */
  | {
      readonly kind: 'paused';
      readonly openBreakers: readonly OpenBreaker[];
      readonly budget: BudgetRefusal | undefined;
    }
  /** A signal asked the process to stop. */
  | {
      readonly kind: 'interrupted';
      /** Calls in flight that were stopped; the vendor may bill them. */
      readonly stoppedCount: number;
      /** Calls whose answers arrived, but could not be saved. */
      readonly lostCount: number;
      /** The store's file was deleted: nothing is left to resume. */
      readonly isStoreDeleted: boolean;
    }
  /** Another command cancelled the group. */
  | { readonly kind: 'cancelled' };

/** An event of the work on a group. */
export type WorkEvent =
  | WorkerEvent
  /** The store takes no writes: no more calls are made, and the answers of so many are held. */
  | ({ readonly kind: 'store-unwritable'; readonly callCount: number } & WriteProblem)
  /** What the work waits for has changed; nothing if it is empty. */
  | {
      readonly kind: 'lanes-waiting';
      readonly waits: readonly LaneWait[];
      /** Whether everything that is left waits, for breakers: no call is made until one of these waits ends. */
      readonly areAllWaiting: boolean;
    }
  /** Another process has learned how often a model may be called, requests a minute. */
  | {
      readonly kind: 'rate-known';
      readonly lane: string;
      readonly model: string;
      readonly requestsPerMinute: number;
    }
  /** Calls were in flight of processes that died or were suspended, and may be paid twice; the cells that they held. */
  | {
      readonly kind: 'cells-taken-over';
      readonly cells: readonly CellKey[];
      readonly inFlightCount: number;
    }
  /** The calls that may be paid twice are listed. */
  | { readonly kind: 'unrecorded-calls-listed'; readonly file: string }
  /** The store takes writes again and has those that were held. */
  | { readonly kind: 'store-writable' };
