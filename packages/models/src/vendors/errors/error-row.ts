import type { ErrorCode } from '@thrice/core';

/**
 * One kind of error that vendors send, and what it means.
 *
 * The conditions that a row gives must all hold; the first row of `ERROR_TABLE` whose do decides. A comment above
 * entries names the vendors whose published errors say them (`tests/fixtures/vendor-errors.jsonl`); for entries
 * without a source, none was found.
 */
export interface ErrorRow {
  readonly code: ErrorCode;
  /** Whose breaker it opens, where the code alone does not say: the whole lane's, or only that of the model. */
  readonly breakerScope?: 'lane' | 'model';
  /**
   * The statuses it comes with; for an error inside a successful response, the one that its body names, or
   * {@link NO_STATUS}.
   */
  readonly status?: readonly number[];
  /** At least one code, type, reason or quota name of the body, in lower case, is or matches one of these. */
  readonly words?: readonly (string | RegExp)[];
  /** The text of the body matches at least one of these. */
  readonly texts?: readonly RegExp[];
  /** The body or a header says how long to wait. */
  readonly hasStatedWait?: true;
  /** It is a web page, of a proxy rather than of the API; without this, rows read pages like other bodies. */
  readonly isPage?: true;
  /** When the quota resets, ms since 1970, where the vendor documents it and the response does not say it. */
  readonly resetAtMs?: (nowMs: number) => number;
}

/** Stands for the status of an error that comes without any. */
export const NO_STATUS = 0;
