import * as z from 'zod';
import { type ErrorClass, type ErrorCode, errorCodesByClass } from '../errors.ts';
import { callSchema } from './call.ts';

/** What a cell is keyed by: one question under one config in one run. */
export interface CellKey {
  readonly run: string;
  readonly id: string;
  readonly config: string;
}

/** How a cell ended; the five are never mixed, and only the first two are scores. */
export const outcomeSchema = z.enum(['scored', 'unparsed', 'ungraded', 'failed', 'not-attempted']);
/** How a cell ended; see {@link outcomeSchema}. */
export type Outcome = z.infer<typeof outcomeSchema>;

/** A score counts in the denominator of every score; the other outcomes never do. */
export function hasScore(outcome: Outcome): boolean {
  return outcome === 'scored' || outcome === 'unparsed';
}

const errorClasses = Object.keys(errorCodesByClass) as [ErrorClass, ...ErrorClass[]];
const errorCodes = Object.values(errorCodesByClass).flat() as [ErrorCode, ...ErrorCode[]];

/** An error as it is stored: no stack, no secret, the text cut to `limits.errorTextChars`. */
export const cellErrorSchema = z.strictObject({
  class: z.enum(errorClasses),
  code: z.enum(errorCodes),
  message: z.string(),
});
/** An error as it is stored. */
export type CellError = z.infer<typeof cellErrorSchema>;

/** One failed or released attempt inside an attempt: what went wrong, when, and what it cost. */
export const attemptSchema = z.strictObject({
  at: z.iso.datetime(),
  step: z.string(),
  error: cellErrorSchema,
  /** Time the failed request took, ms; null if none was sent. */
  latencyMs: z.number().nullable(),
  /** Delay chosen before the next attempt, ms; null if the cell ended here. */
  waitMs: z.number().nullable(),
  /** What the vendor billed for it, USD; null if unknown. */
  costUsd: z.number().nullable(),
});
/** One failed or released attempt; see {@link attemptSchema}. */
export type Attempt = z.infer<typeof attemptSchema>;

/** What a worker writes when it completes a cell, exactly once per generation. */
export const cellResultSchema = z.strictObject({
  outcome: outcomeSchema.exclude(['not-attempted']),
  /** 0..1; null unless `scored` or `unparsed` (an unparsed answer scores 0). */
  score: z.number().min(0).max(1).nullable(),
  /** What the scorer read out of the text; null if there was nothing to read. */
  answer: z.string().nullable(),
  /** Why an outcome is not `scored`, in one word; null for scored cells. */
  reason: z.string().nullable(),
  error: cellErrorSchema.nullable(),
  /** Attempts at the cell's calls, the successful ones included. */
  attempts: z.int().min(0),
  costUsd: z.number().nullable(),
  /** From the first claim's start to completion, waits inside the attempt included, ms. */
  latencyMs: z.number().nullable(),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime(),
  calls: z.array(callSchema),
});
/** What a worker writes when it completes a cell; see {@link cellResultSchema}. */
export type CellResult = z.infer<typeof cellResultSchema>;

/**
 * Attempts beyond the first of each call that a cell needed; a failed cell needed one more than it has.
 *
 * @returns Integer >= 0.
 */
export function countRetries({
  attempts,
  outcome,
  calls,
}: Pick<CellResult, 'attempts' | 'calls'> & { readonly outcome: Outcome }): number {
  const neededCount = calls.length + (outcome === 'failed' ? 1 : 0);
  return Math.max(0, attempts - Math.max(1, neededCount));
}

/** A cell as the ledger knows it: absent rows are cells nobody has claimed yet. */
export interface CellRecord {
  readonly key: CellKey;
  readonly state: 'claimed' | 'released' | 'done';
  readonly generation: number;
  readonly attempts: number;
  readonly attemptLog: readonly Attempt[];
  /** Present exactly when `state` is `done`. */
  readonly result?: CellResult | undefined;
}

/** The published row of a cell: one line of `cells/<config>.jsonl`. */
export const cellRowSchema = z.strictObject({
  schemaVersion: z.literal(1),
  run: z.string(),
  id: z.string(),
  config: z.string(),
  outcome: outcomeSchema,
  score: z.number().nullable(),
  answer: z.string().nullable(),
  target: z.array(z.string()).nullable(),
  confidence: z.number().min(0).max(1).nullable(),
  reason: z.string().nullable(),
  error: cellErrorSchema.nullable(),
  attempts: z.int(),
  costUsd: z.number().nullable(),
  latencyMs: z.number().nullable(),
  startedAt: z.iso.datetime().nullable(),
  finishedAt: z.iso.datetime().nullable(),
  tags: z.record(z.string(), z.string()),
  calls: z.array(callSchema),
  /** What failed attempts cost, USD; null as soon as one's cost is unknown. */
  wasteUsd: z.number().nullable(),
});
/** The published row of a cell. */
export type CellRow = z.infer<typeof cellRowSchema>;
