import type { WarningCode } from '../warnings.ts';

/** Something about a plan that would waste its calls, or may. */
export type PlanProblem = {
  /** Key path, what was expected, what was received, and what to do. */
  readonly message: string;
} & (
  | { readonly severity: 'warning'; readonly code: WarningCode }
  /** Keeps a run from starting, as an `invalid-spec`. */
  | { readonly severity: 'error'; readonly code?: WarningCode }
);
