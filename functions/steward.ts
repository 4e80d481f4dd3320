import { limits } from '@thrice/core';
import { compose } from './compose.ts';

/** Once a minute: opens the lanes whose time has come. Their parked cells come back by themselves. */
export async function handler(): Promise<void> {
  const { ledger, clock, log } = compose();
  const nowMs = clock.now();
  for (const { subject, error, closedAt, resetAt } of await ledger.listClosures()) {
    const closedAtMs = Date.parse(closedAt);
    const resetAtMs = resetAt === null ? Number.NaN : Date.parse(resetAt);
    const opensAtMs = resetAtMs > closedAtMs ? resetAtMs : closedAtMs + limits.quotaBackoffCapMs;
    if (error.class !== 'exhausted' || nowMs < opensAtMs) continue;
    await ledger.open(subject);
    log.info('lane opened', { subject, closedAt });
  }
}
