import type { LaneLimit } from '../domain/lanes/lane-limit.ts';
import type { LaneReport, LaneShare } from '../domain/lanes/lane-report.ts';

/**
 * The limits of lanes, which all processes that share a ledger hold together.
 *
 * **Idempotency.** A report that arrives twice counts twice, and leases a second block that nobody uses: for half a second
 * the lane is slower than it could be, never faster.
 * **Limits.** No two processes are leased the same, however many exchange at once. A process that has not been heard of
 * for five seconds no longer counts.
 */
export interface LaneLimits {
  /** Reports what a process has used of an account, and leases it what it may use next. */
  exchange(account: string, report: LaneReport): Promise<LaneShare>;
  /** Forgets a process that has ended, in the limits of these accounts. */
  leave(accounts: readonly string[], owner: string): Promise<void>;
  /** What is known of an account; undefined if it was never used. */
  read(account: string): Promise<LaneLimit | undefined>;
}
