import { createAnswerHandler } from './shared/answer-handler.ts';

/** Answers one cell per message. */
export const handler = createAnswerHandler();
