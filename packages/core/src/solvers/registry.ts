import type { Solver, SolverRegistry } from '../ports/solver.ts';
import { directSolver } from './direct.ts';

/** The solvers that come with Thrice. */
export const solverRegistry: SolverRegistry = toSolverRegistry([directSolver]);

/** Indexes solvers by their kind. */
export function toSolverRegistry(solvers: readonly Solver[]): SolverRegistry {
  return new Map(solvers.map((solver) => [solver.kind, solver]));
}
