import type { WarningCode } from '../warnings.ts';

/** Something about a plan that would waste its calls, or may. */
export interface PlanProblem {
  /** An error keeps a run from starting; a warning is shown. */
  readonly severity: 'error' | 'warning';
  /** Of a warning; an error is an `invalid-spec`. */
  readonly code: WarningCode;
  /** Key path, what was expected, what was received, and what to do. */
  readonly message: string;
}
