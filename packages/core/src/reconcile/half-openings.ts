import * as z from 'zod';
import type { OpenBreaker } from '../domain/breaker.ts';
import { limits } from '../limits.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';

const HALF_OPENINGS_KEY = 'reconciler/half-openings.json';

/**
 * When breakers were last half-open: closed although nobody knew whether their quota was back. By their keys.
 *
 * Only the reconciler writes it. Without it, a lane is tried earlier than it has to be.
 */
const halfOpeningsSchema = z.record(
  z.string(),
  z.strictObject({
    at: z.iso.datetime(),
    /** A breaker that opens until then is blocked by the same quota. */
    until: z.iso.datetime(),
    /** How many half-openings there were in a row. */
    count: z.int(),
  }),
);
/** The last half-openings of breakers; see {@link halfOpeningsSchema}. */
export type HalfOpenings = z.infer<typeof halfOpeningsSchema>;

type Blocked = Pick<OpenBreaker, 'breakerKey' | 'openedAt'>;

/** Reads the last half-openings; none where they cannot be read. */
export async function readHalfOpenings(blobs: Pick<BlobStore, 'readText'>): Promise<HalfOpenings> {
  const text = await blobs.readText(HALF_OPENINGS_KEY);
  if (text === undefined) return {};
  try {
    return halfOpeningsSchema.parse(JSON.parse(text));
  } catch {
    // Another version wrote it, or a person edited it.
    return {};
  }
}

/** Replaces the last half-openings. */
export async function writeHalfOpenings(
  halfOpenings: HalfOpenings,
  blobs: BlobStore,
): Promise<void> {
  await blobs.write(HALF_OPENINGS_KEY, [`${JSON.stringify(halfOpenings, null, 2)}\n`]);
}

/** How long a breaker without a known reset stays open, ms: twice as long after each half-opening in a row, up to a limit. */
export function halfOpenWaitMs(breaker: Blocked, halfOpenings: HalfOpenings): number {
  const doublings = Math.min(countInRow(breaker, halfOpenings), 30);
  return Math.min(limits.quotaBackoffCapMs, limits.quotaBackoffBaseMs * 2 ** doublings);
}

/** Notes that a breaker is half-open from now on. */
export function withHalfOpening(
  breaker: Blocked,
  halfOpenings: HalfOpenings,
  clock: Clock,
): HalfOpenings {
  const nowMs = clock.now();
  const halfOpening = {
    at: clock.toIso(nowMs),
    until: clock.toIso(nowMs + limits.quotaBackoffCapMs),
    count: countInRow(breaker, halfOpenings) + 1,
  };
  return { ...halfOpenings, [breaker.breakerKey]: halfOpening };
}

function countInRow({ breakerKey, openedAt }: Blocked, halfOpenings: HalfOpenings): number {
  const last = halfOpenings[breakerKey];
  // Instants compare as strings because all of them are ISO-8601 UTC.
  return last !== undefined && last.at <= openedAt && openedAt <= last.until ? last.count : 0;
}
