import { limits, type OpenBreaker, type WorkerObserver } from '@thrice/core';
import type { WorkOrder } from './work-order.ts';

/** Blocks the lanes whose vendor only refuses, as it would if the vendor said that this lasts. */
export async function blockRefusedLanes(
  { engine, governor }: Pick<WorkOrder, 'engine' | 'governor'>,
  observe: WorkerObserver,
): Promise<void> {
  const { clock, ledger } = engine;
  for (const { breakerKey, reason } of governor.takeRefusedLanes(limits.longestHoldMs)) {
    const minutes = limits.longestHoldMs / 60_000;
    const breaker: OpenBreaker = {
      schemaVersion: 1,
      breakerKey,
      error: {
        class: 'exhausted',
        code: 'quota-exhausted',
        message: `every call was refused for ${minutes} minutes: ${reason}`.slice(
          0,
          limits.errorTextChars,
        ),
      },
      openedAt: clock.toIso(clock.now()),
      resetAt: null,
      probeAt: null,
    };
    await ledger.openBreaker(breaker);
    observe({ kind: 'breaker-opened', breaker });
  }
}
