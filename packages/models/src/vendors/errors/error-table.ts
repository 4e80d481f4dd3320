import { ACCESS_ROWS } from './access-rows.ts';
import { ACCOUNT_ROWS } from './account-rows.ts';
import { BUSY_ROWS } from './busy-rows.ts';
import { CONTEXT_ROWS } from './context-rows.ts';
import type { ErrorRow } from './error-row.ts';
import { FILTER_ROWS } from './filter-rows.ts';
import { LIMIT_ROWS } from './limit-rows.ts';
import { QUOTA_ROWS } from './quota-rows.ts';
import { STATUS_ROWS } from './status-rows.ts';
import { STRUCTURE_ROWS } from './structure-rows.ts';
import { TELLING_ROWS } from './telling-rows.ts';
import { WORD_ROWS } from './word-rows.ts';

/**
 * What vendors' errors mean, in the order in which the rows are tried.
 *
 * A closed account comes first: vendors name the filter that closed it. What is wrong with this one request is next: vendors send it with the statuses of rate limits (413, 429), of
 * keys (403) and of their own failures (500, 503). A status alone decides only what nothing else has decided.
 */
export const ERROR_TABLE: readonly ErrorRow[] = [
  ...ACCOUNT_ROWS,
  ...CONTEXT_ROWS,
  ...STRUCTURE_ROWS,
  ...FILTER_ROWS,
  ...LIMIT_ROWS,
  ...QUOTA_ROWS,
  ...ACCESS_ROWS,
  ...BUSY_ROWS,
  ...TELLING_ROWS,
  ...STATUS_ROWS,
  ...WORD_ROWS,
];
