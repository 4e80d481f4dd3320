import type { Benchmark } from '../domain/benchmark.ts';
import type { OpenBreakers } from '../domain/breaker.ts';
import type { ScorerRegistry } from '../domain/scorer.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Governor } from '../ports/governor.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { ClientFor } from '../ports/model-client.ts';
import type { Random } from '../ports/random.ts';
import type { SolverRegistry } from '../ports/solver.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { WorkerObserver } from './worker-events.ts';

/** Everything a worker brings to a cell. */
export interface Worker {
  /** Unique to this worker's life: the name its leases carry. */
  readonly owner: string;
  readonly benchmark: Benchmark;
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  readonly clientFor: ClientFor;
  readonly governor: Governor;
  readonly heartbeat: Heartbeat;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: WorkerObserver;
  /** Whether a call of up to this duration can still be made. @default always */
  readonly hasTimeFor?: (durationMs: number) => boolean;
  /** The open breakers as the worker last read them; may change while it works. */
  readonly openBreakers: OpenBreakers;
  /** @default the built-in solvers */
  readonly solvers?: SolverRegistry | undefined;
  /** @default the built-in scorers */
  readonly scorers?: ScorerRegistry | undefined;
}

/** What the holder of the delivery does with it next. */
export type Settlement =
  /** The cell is done, by this worker or an earlier one. */
  | { readonly kind: 'acknowledge' }
  /** Not now: back to the queue. */
  | { readonly kind: 'release'; readonly delayMs: number };
