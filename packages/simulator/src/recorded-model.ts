import { type ApiError, invalidRequest } from './api-error.ts';
import type { Recording, Recordings } from './load-recordings.ts';
import type { PromptRequest } from './prompt-request.ts';
import { chainOfThoughtTail } from './question-text.ts';
import {
  instantAnswer,
  type ModelAnswer,
  type ServedFinishReason,
  type SimulatedModel,
} from './simulated-model.ts';

/** The error code of the 400 response to a question without a recording. */
const noRecordingCode = 'no_recording';

/** Answers with recorded texts, found by question text and arm. Ignores the requested model. */
export function createRecordedModel(recordings: Recordings): SimulatedModel {
  const answers = new Map<string, ModelAnswer>();
  for (const recording of recordings) {
    const key = recordingKey(recording.arm, recording.question);
    answers.set(key, instantAnswer(recording.prediction, finishReasonOf(recording)));
  }
  return { modelNames: [], answer: (request) => findAnswer(answers, request) };
}

function findAnswer(
  answers: ReadonlyMap<string, ModelAnswer>,
  { question, arm }: PromptRequest,
): ModelAnswer | ApiError {
  if (question === undefined || arm === undefined) {
    return invalidRequest('No user message to find a recording for.', noRecordingCode);
  }
  const exact = answers.get(recordingKey(arm, question));
  if (exact !== undefined) return exact;
  if (arm === 'cot' && question.endsWith(chainOfThoughtTail)) {
    // Without BBH's markers, the question ends in the chain-of-thought request; the recording may not.
    const questionOnly = question.slice(0, -chainOfThoughtTail.length).trim();
    const answer = answers.get(recordingKey(arm, questionOnly));
    if (answer !== undefined) return answer;
  }
  return invalidRequest(`No recording of this question for the ${arm} arm.`, noRecordingCode);
}

function recordingKey(arm: string, question: string): string {
  return `${arm}\n${question}`;
}

/** A recorded chain of thought without an answer was cut off by the token limit. */
function finishReasonOf({ arm, prediction, finishReason }: Recording): ServedFinishReason {
  if (finishReason !== undefined) return finishReason;
  return arm === 'cot' && !prediction.includes('the answer is ') ? 'length' : 'stop';
}
