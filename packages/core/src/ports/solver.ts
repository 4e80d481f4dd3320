import type { Config } from '../domain/benchmark.ts';
import type { FinishReason, Journal, ModelOutput } from '../domain/call.ts';
import type { Message } from '../domain/message.ts';
import type { Question } from '../domain/question.ts';
import type { ModelRequest } from './model-client.ts';

/** The input of a solver. */
export interface SolverInput {
  readonly config: Config;
  readonly question: Question;
  /** The config's prompt, rendered for the question. */
  readonly prompt: readonly Message[];
  /** The steps recorded so far. */
  readonly journal: Journal;
}

/** A call that a solver asks for. The execution of the cell adds the lane, cell and step. */
export interface StepRequest extends Omit<ModelRequest, 'lane' | 'cell' | 'step'> {
  /** The lane's name. */
  readonly lane: string;
  /** The vendor prepares the response while nobody waits for it. */
  readonly isBackground: boolean;
}

/** The next step of a solver, or its answer. */
export type SolverMove =
  | {
      readonly kind: 'call';
      /** Name of the call within the cell; never the name of a recorded step. */
      readonly step: string;
      readonly request: StepRequest;
    }
  | {
      readonly kind: 'answer';
      readonly output: ModelOutput;
      readonly finishReason: FinishReason | null;
    };

/**
 * How a config answers a question: a solver asks for calls until it has an answer.
 *
 * **Determinism.** A solver is a function of its input alone. Over the same journal it makes the same move, so
 * that a worker that takes over a cell continues without paying for a recorded call again.
 * **Limits.** A solver has no side effects. The execution of the cell owns the lease, permits, journal, attempts,
 * time limit and abort.
 */
export interface Solver {
  /** Its name in a spec, such as `direct`. */
  readonly kind: string;
  next(input: SolverInput): SolverMove;
}

/** Solvers by kind. */
export type SolverRegistry = ReadonlyMap<string, Solver>;
