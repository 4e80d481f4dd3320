import * as z from 'zod';
import { cellErrorSchema } from './cell.ts';

/**
 * Why a lane (`openai`) or one model of it (`openai/gpt-9`) takes no calls for now.
 *
 * Closed on `exhausted` and `misconfigured`: ten thousand equal failures help nobody.
 */
export const openBreakerSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** `lane` or `lane/model`. */
  breakerKey: z.string(),
  error: cellErrorSchema,
  openedAt: z.iso.datetime(),
  /** When the vendor said it opens again; null if it did not say. */
  resetAt: z.iso.datetime().nullable(),
});
/** Why a lane, or one model of it, takes no calls for now. */
export type OpenBreaker = z.infer<typeof openBreakerSchema>;

/** The lane of a model as a spec writes it: `openai` of `openai/gpt-9`. */
export function laneOf(model: string): string {
  return model.split('/')[0] ?? '';
}

/** What may close a model as a spec writes it: its lane, and the model itself. */
export function breakerKeysOf(model: string): readonly string[] {
  return [laneOf(model), model];
}
