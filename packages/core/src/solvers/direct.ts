import type { Solver } from '../ports/solver.ts';
import { answerOf, requestOf } from './request-of.ts';

const ANSWER_STEP = 'answer';

/** Calls the config's model once; its output is the answer. */
export const directSolver: Solver = {
  kind: 'direct',
  next: ({ config, prompt, journal }) => {
    const recorded = journal.get(ANSWER_STEP);
    if (recorded === undefined) {
      return { kind: 'call', step: ANSWER_STEP, request: requestOf(config, prompt) };
    }
    return answerOf(recorded);
  },
};
