import type { Call, Lane, RecordedBody } from '@thrice/core';
import { protocols } from './protocols.ts';

/** Reads the body that a call has recorded again, as it was read when it arrived. */
export function readRecordedBody(call: Call, raw: unknown, lane: Lane): RecordedBody {
  // Vendors of one protocol differ, and the lane may have been pointed elsewhere since.
  const context = { lane: { ...lane, endpoints: [call.endpoint] }, nowMs: 0 };
  const { servedModel, output, finishReason, rawFinishReason, usage } = protocols[
    lane.protocol
  ].readAnswer(raw, context);
  const { serviceTier: _, ...tokens } = usage;
  return { output, call: { servedModel, finishReason, rawFinishReason, ...tokens } };
}
