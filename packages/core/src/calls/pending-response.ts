import { type ClockReading, readClock } from '../cells/clock-reading.ts';
import type { AcceptedSubmission } from '../domain/submission.ts';
import { ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';

/** What is stored of the age of a pending response. */
type Aged = Pick<AcceptedSubmission, 'ageMs' | 'polledAtMs'>;

/** Why nothing was learned about a pending response. */
export interface FailedPoll {
  /**
   * `forgotten`: the vendor does not know it any more, which was accepted and may have been billed. `unreached`: it is
   * still expected, as far as is known.
   */
  readonly kind: 'forgotten' | 'unreached';
  readonly error: ThriceError;
}

/** The times of a response that is about to be sent. */
export function newlySent(clock: Clock): Aged & Pick<AcceptedSubmission, 'submittedAtMs'> {
  const nowMs = clock.now();
  return { submittedAtMs: nowMs, polledAtMs: nowMs, ageMs: 0 };
}

/**
 * Returns a pending response as old as it is now, for whoever is about to poll it.
 *
 * The process that polled it last knows how long ago that was, by monotonic time. Where another one did, a poll that is
 * later than it can be adds only the time after which it was due: a clock was set, or nobody was at work.
 *
 * @param roundMs - How much later than it is due a poll may be, ms.
 * @param own - When this process has polled it; undefined if it has not.
 */
export function grownOlder<Pending extends Aged>(
  pending: Pending,
  {
    clock,
    capMs,
    roundMs,
    own,
  }: {
    readonly clock: Clock;
    readonly capMs: number;
    readonly roundMs: number;
    readonly own?: ClockReading | undefined;
  },
): Pending {
  const { wallMs, monotonicMs } = readClock(clock);
  const dueMs = pollDelayMs(pending, { capMs });
  const isOwn = own?.wallMs === pending.polledAtMs;
  const passedMs = isOwn ? monotonicMs - own.monotonicMs : wallMs - pending.polledAtMs;
  const isCredible = isOwn || (passedMs >= 0 && passedMs < dueMs + roundMs);
  const ageMs = pending.ageMs + (isCredible ? passedMs : dueMs);
  return { ...pending, polledAtMs: wallMs, ageMs };
}

/**
 * Asks a vendor once about a response that it prepares: how far it is, or to stop.
 *
 * A vendor may not know for a while what it has just accepted; from then on, one that does not know it has forgotten it.
 */
export async function pollPending<Reply>(
  { ageMs }: Aged,
  ask: () => Promise<Reply>,
): Promise<Reply | FailedPoll> {
  const reply = await ask().catch(toThriceError);
  if (!(reply instanceof ThriceError)) return reply;
  const isForgotten = reply.code === 'unknown-response' && ageMs >= limits.responseVisibleMs;
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
  { ageMs }: Aged,
  {
    capMs,
    retryAfterMs = 0,
  }: { readonly capMs: number; readonly retryAfterMs?: number | undefined },
): number {
  return Math.max(
    retryAfterMs,
    Math.round(Math.min(capMs, Math.max(limits.pollBaseMs, ageMs / 10))),
  );
}
