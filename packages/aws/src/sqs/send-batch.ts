import type { BatchResultErrorEntry } from '@aws-sdk/client-sqs';
import { backoffMs, type Clock, type Random } from '@thrice/core';
import { mapEntryError, mapSdkError } from '../map-sdk-error.ts';

/** The most messages of one request, sent, received or changed. */
export const BATCH_MESSAGES = 10;
/** Tries of a batch whose entries failed one by one. */
const MAX_TRIES = 6;
const RETRY_BACKOFF = { baseMs: 100, capMs: 5_000 };
/** What SQS says of a receipt that is no longer valid: its message is gone or in other hands. */
export const STALE_NAMES: readonly string[] = [
  'InvalidParameterValue',
  'MessageNotInflight',
  'ReceiptHandleIsInvalid',
];
const SQS_PREFIX = 'AWS.SimpleQueueService.';

/** What became of the entries of a batch. */
export interface BatchAnswer {
  readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
  readonly Failed?: readonly BatchResultErrorEntry[] | undefined;
}

/**
 * Sends a batch of SQS, and again the entries of it that failed, until none does.
 *
 * @param entries - 1..`BATCH_MESSAGES`, each with an id of its own.
 * @param store - The queue, for messages.
 * @throws {ThriceError} What `mapSdkError` says, of the request or of an entry that fails for good.
 */
export async function sendBatch<Entry extends { readonly Id: string }>(
  entries: readonly Entry[],
  send: (entries: Entry[]) => Promise<BatchAnswer>,
  {
    store,
    clock,
    random,
  }: { readonly store: string; readonly clock: Clock; readonly random: Random },
): Promise<void> {
  let pending = [...entries];
  for (let tryCount = 1; ; tryCount += 1) {
    const { Successful = [], Failed = [] } = await send(pending).catch((error: unknown) => {
      throw mapSdkError(error, store);
    });
    const done = new Set(Successful.map(({ Id }) => Id));
    pending = pending.filter(({ Id }) => !done.has(Id));
    if (pending.length === 0) return;
    const errors = pending.map(({ Id }) =>
      mapEntryError(Failed.find((entry) => entry.Id === Id) ?? {}, store),
    );
    const lasting = errors.find((error) => error.class !== 'transient');
    const final = lasting ?? (tryCount >= MAX_TRIES ? errors[0] : undefined);
    if (final !== undefined) throw final;
    await clock.sleep(backoffMs(tryCount, { ...RETRY_BACKOFF, random }));
  }
}

/** Counts the entries as done whose receipt is no longer valid: what they ask for is no longer ours to do. */
export function forgiveStale({ Successful = [], Failed = [] }: BatchAnswer): BatchAnswer {
  const stale = Failed.filter(({ Code = '' }) =>
    STALE_NAMES.includes(Code.startsWith(SQS_PREFIX) ? Code.slice(SQS_PREFIX.length) : Code),
  );
  return { Successful: [...Successful, ...stale], Failed };
}
