import type { Config } from '../domain/benchmark.ts';
import type { FinishReason, Journal, ModelOutput } from '../domain/call.ts';
import type { Message } from '../domain/message.ts';
import type { Question } from '../domain/question.ts';
import type { ModelRequest } from './model-client.ts';

/** What a solver works from. */
export interface SolverInput {
  readonly config: Config;
  readonly question: Question;
  /** The config's prompt, rendered for the question. */
  readonly prompt: readonly Message[];
  /** The steps recorded so far. */
  readonly journal: Journal;
}

/** A call that a solver asks for; the cell adds what it knows itself. */
export interface StepRequest extends Omit<ModelRequest, 'lane' | 'cell' | 'step'> {
  /** The lane's name. */
  readonly lane: string;
}

/** What a solver wants next. */
export type SolverMove =
  | {
      readonly kind: 'call';
      /** Names the call within the cell; never that of a recorded step. */
      readonly step: string;
      readonly request: StepRequest;
    }
  | {
      readonly kind: 'answer';
      readonly output: ModelOutput;
      readonly finishReason: FinishReason | null;
    };

/**
 * How a config answers a question: asks for steps until it has an answer.
 *
 * **Determinism.** A function of its input alone: run again over the same journal it makes the same move,
 * so a cell that another worker takes over continues without paying for a recorded call again.
 * **Limits.** Touches nothing: the cell owns the lease, permits, journal, attempts, time limit and abort.
 */
export interface Solver {
  /** As a spec names it: `direct`. */
  readonly kind: string;
  next(input: SolverInput): SolverMove;
}

/** Solvers by kind. */
export type SolverRegistry = ReadonlyMap<string, Solver>;
