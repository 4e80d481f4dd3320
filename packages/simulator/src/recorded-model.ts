import { type ApiError, invalidRequest } from './api-error.ts';
import type { ChatRequest } from './chat-request.ts';
import type { Recording, Recordings } from './load-recordings.ts';
import { chainOfThoughtTail } from './question-text.ts';
import {
  type FinishReason,
  instantAnswer,
  type ModelAnswer,
  type SimulatedModel,
} from './simulated-model.ts';

/** The code of the 400 that answers a question nobody recorded. */
const noRecordingCode = 'no_recording';

/** Answers with recorded texts, found by question text and arm, whatever model is named. */
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
  { question, arm }: ChatRequest,
): ModelAnswer | ApiError {
  if (question === undefined || arm === undefined) {
    return invalidRequest('No user message to find a recording for.', noRecordingCode);
  }
  const exact = answers.get(recordingKey(arm, question));
  if (exact !== undefined) return exact;
  if (arm === 'cot' && question.endsWith(chainOfThoughtTail)) {
    // A prompt without BBH's markers: the recording may hold the question without the request to think.
    const asked = question.slice(0, -chainOfThoughtTail.length).trim();
    const bare = answers.get(recordingKey(arm, asked));
    if (bare !== undefined) return bare;
  }
  return invalidRequest(`No recording of this question for the ${arm} arm.`, noRecordingCode);
}

function recordingKey(arm: string, question: string): string {
  return `${arm}\n${question}`;
}

/** The recorder's token limit cut the chains of thought that state no answer. */
function finishReasonOf({ arm, prediction, finishReason }: Recording): FinishReason {
  if (finishReason !== undefined) return finishReason;
  return arm === 'cot' && !prediction.includes('the answer is ') ? 'length' : 'stop';
}
