import { breakerKeyOf } from '../calls/call-outcome.ts';
import { describeError } from '../cells/failed-result.ts';
import type { Worker } from '../cells/worker.ts';
import type { OpenBreaker } from '../domain/breaker.ts';
import type { ThriceError } from '../errors.ts';
import type { StepRequest } from '../ports/solver.ts';
import type { LaneDiagnosis } from './lane-health.ts';

type Target = Pick<StepRequest, 'lane' | 'model'>;

/** Opens the breaker of the lane or the model, if the error is about one of them. */
export async function openBreakerFor(
  error: ThriceError,
  {
    target,
    diagnosis,
  }: { readonly target: Target; readonly diagnosis?: LaneDiagnosis | undefined },
  { ledger, observe, clock }: Pick<Worker, 'ledger' | 'observe' | 'clock'>,
): Promise<void> {
  const outage = diagnosis?.isOpening === true ? diagnosis.outage : undefined;
  const breakerKey = outage === undefined ? breakerKeyOf(error, target) : target.lane;
  if (breakerKey === undefined) return;
  const breaker = describeBreaker(breakerKey, { error, outage }, clock);
  // Before the write, so that the other cells of this worker know at once.
  observe({ kind: 'breaker-opened', breaker });
  await ledger.openBreaker(breaker);
}

/** The breaker that a failed call has opened, or found open. */
export function breakerOf(
  error: ThriceError,
  target: Target,
  { openBreakers, clock }: Pick<Worker, 'openBreakers' | 'clock'>,
): OpenBreaker {
  const breakerKey = breakerKeyOf(error, target) ?? target.lane;
  return openBreakers.get(breakerKey) ?? describeBreaker(breakerKey, { error }, clock);
}

function describeBreaker(
  breakerKey: string,
  { error, outage }: { readonly error: ThriceError; readonly outage?: LaneDiagnosis['outage'] },
  clock: Worker['clock'],
): OpenBreaker {
  return {
    schemaVersion: 1,
    breakerKey,
    error: describeError(error),
    openedAt: outage?.since ?? clock.toIso(clock.now()),
    resetAt: error.details.resetAt ?? null,
    probeAt: outage?.probeAt ?? null,
  };
}
