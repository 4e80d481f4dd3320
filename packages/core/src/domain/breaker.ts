import * as z from 'zod';
import { cellErrorSchema } from './cell.ts';

/**
 * Why a lane (`openai`) or one of its models (`openai/gpt-9`) is blocked.
 *
 * Opens on `exhausted` and `misconfigured` errors, where every further call would fail the same way.
 */
export const openBreakerSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** `lane` or `lane/model`. */
  breakerKey: z.string(),
  error: cellErrorSchema,
  openedAt: z.iso.datetime(),
  /** When the vendor said calls are accepted again; null if it did not say. */
  resetAt: z.iso.datetime().nullable(),
});
/** Why a lane, or one of its models, is blocked. */
export type OpenBreaker = z.infer<typeof openBreakerSchema>;

/** Returns the lane of a model as written in a spec: `openai` for `openai/gpt-9`. */
export function laneOf(model: string): string {
  return model.split('/')[0] ?? '';
}

/** Returns the breaker keys that can block a model as written in a spec: its lane and the model. */
export function breakerKeysOf(model: string): readonly string[] {
  return [laneOf(model), model];
}
