import * as z from 'zod';
import { cellErrorSchema } from './cell.ts';

/**
 * The open circuit breaker of a lane (`openai`) or of one model on it (`openai/gpt-9`): no calls for now.
 *
 * Opens on `exhausted` and `misconfigured`, and on transport failures in a row: ten thousand equal failures help
 * nobody.
 */
export const openBreakerSchema = z.strictObject({
  schemaVersion: z.literal(1),
  /** `lane` or `lane/model`. */
  breakerKey: z.string(),
  error: cellErrorSchema,
  /** Of an outage: when its first call failed. */
  openedAt: z.iso.datetime(),
  /** When the vendor said that calls work again; null if it did not say. */
  resetAt: z.iso.datetime().nullable(),
  /** Of an outage: when one call finds out whether the lane works again; null for any other error. */
  probeAt: z.iso.datetime().nullable(),
});
/** An open circuit breaker; see {@link openBreakerSchema}. */
export type OpenBreaker = z.infer<typeof openBreakerSchema>;

/** Whether a breaker is open because the lane's servers are out: one call at a time finds out whether they work. */
export function isOutage({ probeAt }: OpenBreaker): boolean {
  return probeAt !== null;
}

/** The open breakers by their key. */
export type OpenBreakers = ReadonlyMap<string, OpenBreaker>;

/** Indexes open breakers by their key. */
export function toOpenBreakers(breakers: Iterable<OpenBreaker>): Map<string, OpenBreaker> {
  return new Map([...breakers].map((breaker) => [breaker.breakerKey, breaker]));
}

/** The lane of a model as a spec writes it: `openai` of `openai/gpt-9`. */
export function laneOf(model: string): string {
  return model.split('/')[0] ?? '';
}

/** A model as a spec writes it: `openai/gpt-9`. */
export function modelRefOf({
  lane,
  model,
}: {
  readonly lane: string;
  readonly model: string;
}): string {
  return `${lane}/${model}`;
}

/**
 * The open breakers that block a model, its lane's first; none if it may be called.
 *
 * @param model - As a spec writes it (`openai/gpt-9`), or a config with its lane and model.
 */
export function breakersFor(
  model: string | { readonly lane: string; readonly model: string },
  open: OpenBreakers,
): readonly OpenBreaker[] {
  const ref = typeof model === 'string' ? model : modelRefOf(model);
  return [laneOf(ref), ref].flatMap((breakerKey) => open.get(breakerKey) ?? []);
}

/** Whether cells of a config may call other models than the config's own: those of the direct solver do not. */
export function mayCallOtherModels({ solver }: { readonly solver: string }): boolean {
  return solver !== 'direct';
}

/** Whether a breaker, by its key, can block cells of a config. */
export function canBlock(
  breakerKey: string,
  config: { readonly lane: string; readonly model: string; readonly solver: string },
): boolean {
  if (mayCallOtherModels(config)) return true;
  return breakerKey === config.lane || breakerKey === modelRefOf(config);
}
