import type { Clock } from '../ports/clock.ts';

/** Whether a recorded instant is this long ago, or so far ahead that waiting for it makes no sense. */
export function hasElapsed(sinceIso: string, durationMs: number, clock: Clock): boolean {
  return sinceIso <= clock.toIso(clock.now() - durationMs) || isAhead(sinceIso, durationMs, clock);
}

/** Whether a recorded instant is further ahead than a duration: the clock has been set back since. */
export function isAhead(instantIso: string, durationMs: number, clock: Clock): boolean {
  return instantIso > clock.toIso(clock.now() + durationMs);
}
