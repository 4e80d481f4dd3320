import type { Solver } from '../ports/solver.ts';
import { answerOf, callOf, withoutRole } from './request-of.ts';

const MISSING = 'missing-key' as const;

/**
 * Calls the first model of a list whose lane has a key. If the config fails over, the next one is called where a model
 * fails for good or is blocked.
 */
export const routerSolver: Solver = {
  kind: 'router',
  next: ({ config: { roles, combination }, journal, render }) => {
    const [answered] = roles.flatMap(({ step }) => journal.get(step) ?? []);
    if (answered !== undefined) return answerOf(answered);
    const [first, ...otherwise] = roles.map((role) => callOf(role, render(role)));
    if (first === undefined) throw withoutRole('router', 'model-1');
    const insteadOf = combination.withoutKey.map((model) => ({ model, code: MISSING }));
    return { kind: 'call', ...first, otherwise, insteadOf };
  },
};
