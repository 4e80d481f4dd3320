import type { Config, Question, SolverInput } from '@thrice/core';
import { solverInputOf } from '../../packages/core/src/cells/solver-input.ts';
import type { Journal } from '../../packages/core/src/domain/call.ts';
import { aConfig, aQuestion } from './builders.ts';
import { inProcessPatterns } from './in-process-patterns.ts';

/** What a solver is given for a question, with the built-in scorers. */
export function aSolverInput(
  config: Config = aConfig(),
  {
    question = aQuestion(),
    journal = new Map(),
  }: { readonly question?: Question; readonly journal?: Journal } = {},
): SolverInput {
  return { ...solverInputOf(config, question, { userCode: inProcessPatterns }), journal };
}
