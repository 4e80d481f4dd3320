import type { Config, JournalEntry, Question, StepCall } from '@thrice/core';
import { solverRegistry } from '../../packages/core/src/solvers/registry.ts';
import { aSolverInput } from './a-solver-input.ts';
import { aJournalEntry } from './builders.ts';

/** What a solver did for a question. */
export interface Performance {
  /** The steps that it asked for, in order. */
  readonly steps: readonly string[];
  /** The text that it answered with. */
  readonly answer: string | null;
  readonly journal: ReadonlyMap<string, JournalEntry>;
}

/** Has the solver of a config answer a question, where each call gives the text that `say` returns. */
export async function performSteps(
  config: Config,
  question: Question,
  say: (call: StepCall) => string | JournalEntry['output'],
): Promise<Performance> {
  const solver = solverRegistry.get(config.solver);
  if (solver === undefined) throw new Error(`no solver "${config.solver}"`);
  const input = aSolverInput(config, { question });
  let journal: ReadonlyMap<string, JournalEntry> = new Map();
  for (;;) {
    const move = await solver.next({ ...input, journal });
    if (move.kind === 'answer') {
      return { steps: [...journal.keys()], answer: move.output.text, journal };
    }
    const said = say(move);
    const output = typeof said === 'string' ? { text: said } : { output: said };
    const entry = aJournalEntry({ step: move.step, position: journal.size, ...output });
    journal = new Map([...journal, [move.step, entry]]);
  }
}
