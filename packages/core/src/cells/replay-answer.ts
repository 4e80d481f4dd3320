import type { Config } from '../domain/benchmark.ts';
import { inRecordedOrder, type Journal } from '../domain/call.ts';
import type { Question } from '../domain/question.ts';
import type { SolverMove, SolverRegistry } from '../ports/solver.ts';
import { solverRegistry } from '../solvers/registry.ts';
import { renderPrompt } from '../spec/render-prompt.ts';

/**
 * The answer that a config's solver gives over recorded steps, without a call.
 *
 * @returns Undefined if the recorded steps do not reach an answer, or the solver is not in the registry.
 */
export function replayAnswer(
  {
    config,
    question,
    journal,
  }: { readonly config: Config; readonly question: Question; readonly journal: Journal },
  solvers: SolverRegistry = solverRegistry,
): Extract<SolverMove, { readonly kind: 'answer' }> | undefined {
  const prompt = renderPrompt(config, question);
  const input = { config, question, prompt, journal: inRecordedOrder(journal) };
  const move = solvers.get(config.solver)?.next(input);
  return move?.kind === 'answer' ? move : undefined;
}
