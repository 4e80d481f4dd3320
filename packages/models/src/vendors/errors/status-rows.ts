import type { ErrorRow } from './error-row.ts';

/** By status alone. */
export const STATUS_ROWS: readonly ErrorRow[] = [
  // 451: not where the caller is.
  { code: 'auth-failed', status: [401, 407, 451] },
  // A firewall's page may be about what the prompt contains, or about the number of calls. No API sends it.
  { code: 'model-unavailable', status: [403], isPage: true },
  { code: 'auth-failed', status: [403] },
  { code: 'model-rate-limited', status: [429] },
  { code: 'endpoint-unreachable', status: [404], isPage: true },
  { code: 'unknown-model', status: [404], texts: [/\bmodels?\b/i] },
  { code: 'endpoint-unreachable', status: [404, 405] },
  // A model that was withdrawn, or is not served in this way.
  { code: 'unknown-model', status: [410] },
  { code: 'context-too-long', status: [413] },
  { code: 'model-timeout', status: [408, 504, 522, 524] },
  { code: 'model-unavailable', status: [409, 423, 424, 425, 498, 499] },
  { code: 'model-unavailable', status: range(500, 599) },
  { code: 'invalid-request', status: range(400, 499) },
];

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
