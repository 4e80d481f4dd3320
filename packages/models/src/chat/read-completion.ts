import { ThriceError, vendorOf } from '@thrice/core';
import { APIError } from 'openai/core/error';
import type * as z from 'zod';
import { readServedModel } from '../call/body-fields.ts';
import type { AnswerContext, ReadAnswer } from '../call/wire-protocol.ts';
import { mapLimitText } from '../vendors/map-limit-text.ts';
import { mapUnfinished } from '../vendors/map-unfinished.ts';
import { findError } from '../vendors/read-error.ts';
import { chatCompletionSchema, mapFinishReason, mapOutput, readUsage } from './chat-response.ts';

/** Reads the body of a successful response, whatever it is. Never throws. */
export function readCompletion(raw: unknown, { lane, nowMs }: AnswerContext): ReadAnswer {
  const { data: completion } = chatCompletionSchema.safeParse(raw);
  const choice = completion?.choices[0];
  const output = mapOutput(choice?.message ?? {});
  return {
    servedModel: readServedModel(raw),
    output,
    finishReason: mapFinishReason(choice?.finish_reason),
    rawFinishReason: choice?.finish_reason ?? null,
    usage: readUsage(raw, vendorOf(lane)),
    problem: findProblem(raw, choice, output.text, nowMs),
  };
}

function findProblem(
  raw: unknown,
  choice: z.infer<typeof chatCompletionSchema>['choices'][number] | undefined,
  text: string | null,
  nowMs: number,
): ReadAnswer['problem'] {
  const error = findError(raw);
  // As the package throws it for an error event of a stream.
  if (error !== undefined) return new APIError(undefined, { error }, undefined, undefined);
  // A filter may leave nothing but the reason.
  if (choice?.message || choice?.finish_reason) {
    return (
      mapUnfinished(choice.finish_reason) ?? (text === null ? undefined : mapLimitText(text, nowMs))
    );
  }
  return new ThriceError({
    code: 'truncated-response',
    message: 'expected a chat completion with a choice, received another body',
  });
}
