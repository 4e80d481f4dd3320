import type { ThriceError } from '../errors.ts';

/**
 * Statuses of a gateway or server that has given up waiting, while the model may have answered: 408 and 504, 502 of a
 * gateway that got something unreadable, and Cloudflare's own.
 *
 * @see https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/ (2026-11)
 */
const GAVE_UP_STATUSES = [408, 499, 502, 504, 520, 521, 522, 523, 524];

/**
 * Whether a failed call is certain to cost nothing: it never left, or its server has refused it. A call that broke off
 * may have been answered and billed all the same.
 */
export function isCertainlyUnbilled({ details: { isUnsent, status } }: ThriceError): boolean {
  if (isUnsent === true) return true;
  return status !== undefined && status >= 400 && !GAVE_UP_STATUSES.includes(status);
}
