import type { Config } from '../domain/benchmark.ts';
import { inRecordedOrder, type Journal } from '../domain/call.ts';
import type { RecordedAnswer } from '../domain/cell.ts';
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
): RecordedAnswer | undefined {
  const prompt = renderPrompt(config, question);
  const input = { config, question, prompt, journal: inRecordedOrder(journal) };
  const move = solvers.get(config.solver)?.next(input);
  return move?.kind === 'answer' ? toRecordedAnswer(move) : undefined;
}

/** What a cell stores of its solver's answer. */
export function toRecordedAnswer({
  output: { text, refusal, reasoning },
  finishReason,
}: Extract<SolverMove, { readonly kind: 'answer' }>): RecordedAnswer {
  return { output: text, refusal, finishReason, hasReasoning: reasoning !== null };
}
