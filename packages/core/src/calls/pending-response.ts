import { ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';

/** When a pending response was submitted, ms since 1970. */
type Submitted = Readonly<Record<'submittedAtMs', number>>;

/** Why nothing was learned about a pending response. */
export interface FailedPoll {
  /**
   * `forgotten`: the vendor does not know it any more, which was accepted and may have been billed. `unreached`: it is
   * still expected, as far as is known.
   */
  readonly kind: 'forgotten' | 'unreached';
  readonly error: ThriceError;
}

/**
 * Asks a vendor once about a response that it prepares: how far it is, or to stop.
 *
 * A vendor may not know for a while what it has just accepted; from then on, one that does not know it has forgotten it.
 */
export async function pollPending<Reply>(
  { submittedAtMs }: Submitted,
  ask: () => Promise<Reply>,
  clock: Clock,
): Promise<Reply | FailedPoll> {
  const reply = await ask().catch(toThriceError);
  if (!(reply instanceof ThriceError)) return reply;
  const isForgotten =
    reply.code === 'unknown-response' && clock.now() - submittedAtMs >= limits.responseVisibleMs;
  return { kind: isForgotten ? 'forgotten' : 'unreached', error: reply };
}

/**
 * How long to wait before a response is polled again, ms: a tenth of the time that it has taken so far, so that polling
 * adds no more than that.
 *
 * @param capMs - The longest such wait.
 * @param retryAfterMs - How long the vendor asked to wait, if that is longer.
 */
export function pollDelayMs(
  { submittedAtMs }: Submitted,
  {
    clock,
    capMs,
    retryAfterMs = 0,
  }: {
    readonly clock: Clock;
    readonly capMs: number;
    readonly retryAfterMs?: number | undefined;
  },
): number {
  const ageMs = clock.now() - submittedAtMs;
  return Math.max(
    retryAfterMs,
    Math.round(Math.min(capMs, Math.max(limits.pollBaseMs, ageMs / 10))),
  );
}
