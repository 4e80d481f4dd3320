import type { OpenBreaker } from '../domain/breaker.ts';
import type { CellKey, CellResult } from '../domain/cell.ts';
import type { ThriceError } from '../errors.ts';

/** What happens while cells are worked on, for progress displays and logs. */
export type WorkerEvent =
  | { readonly kind: 'cell-completed'; readonly key: CellKey; readonly result: CellResult }
  | {
      readonly kind: 'call-failed';
      readonly key: CellKey;
      readonly error: ThriceError;
      /** Delay until the next attempt, ms; null if there is none. */
      readonly waitMs: number | null;
    }
  | { readonly kind: 'breaker-opened'; readonly breaker: OpenBreaker }
  | { readonly kind: 'breaker-waiting'; readonly breakerKey: string; readonly untilMs: number }
  /** Cells waited for a call that nothing withheld; they are set going again. */
  | { readonly kind: 'stalled'; readonly cellCount: number; readonly forMs: number }
  /** Cells a dead worker was at work on; a call of theirs in flight may be paid twice. */
  | { readonly kind: 'cells-taken-over'; readonly cells: readonly CellKey[] };

/** Receives events; must not throw and must return soon. */
export type WorkerObserver = (event: WorkerEvent) => void;
