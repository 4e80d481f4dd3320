import { ThriceError, vendorOf } from '@thrice/core';
import { APIError } from 'openai/core/error';
import { readError, readServedModel } from '../call/body-fields.ts';
import type { AnswerContext, ReadAnswer } from '../call/wire-protocol.ts';
import { mapLimitText } from '../vendors/map-limit-text.ts';
import { chatCompletionSchema, mapFinishReason, mapOutput, readUsage } from './chat-response.ts';

/** Reads the body of a successful response, whatever it is. Never throws. */
export function readCompletion(raw: unknown, { lane }: AnswerContext): ReadAnswer {
  const { data: completion } = chatCompletionSchema.safeParse(raw);
  const choice = completion?.choices[0];
  const output = mapOutput(choice?.message ?? {});
  return {
    servedModel: readServedModel(raw),
    output,
    finishReason: mapFinishReason(choice?.finish_reason),
    rawFinishReason: choice?.finish_reason ?? null,
    usage: readUsage(raw, vendorOf(lane)),
    problem: findProblem(raw, choice !== undefined, output.text),
  };
}

function findProblem(
  raw: unknown,
  isCompletion: boolean,
  text: string | null,
): ReadAnswer['problem'] {
  const error = readError(raw);
  // As the package throws it for an error event of a stream.
  if (error !== undefined) return new APIError(undefined, error, undefined, undefined);
  if (isCompletion) return text === null ? undefined : mapLimitText(text);
  return new ThriceError({
    code: 'truncated-response',
    message: 'expected a chat completion with a choice, received another body',
  });
}
