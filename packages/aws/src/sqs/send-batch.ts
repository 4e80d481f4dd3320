import type { BatchResultErrorEntry } from '@aws-sdk/client-sqs';
import { backoffMs, type Clock, type Random } from '@thrice/core';
import { mapEntryError, mapSdkError } from '../map-sdk-error.ts';

/** The SQS limit on messages in one send, receive, delete, or visibility request. */
export const BATCH_MESSAGES = 10;
/** Attempts to send the entries of a batch that fail with transient errors. */
const MAX_ATTEMPTS = 6;
const RETRY_BACKOFF = { baseMs: 100, capMs: 5_000 };
/** Errors for a stale receipt, whose message was deleted or received by another consumer. */
export const STALE_RECEIPT_ERRORS: readonly string[] = [
  'InvalidParameterValue',
  'MessageNotInflight',
  'ReceiptHandleIsInvalid',
];
const SQS_PREFIX = 'AWS.SimpleQueueService.';

/** The response to a batch, with the outcome of each entry. */
export interface SendBatchResponse {
  readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined;
  readonly Failed?: readonly BatchResultErrorEntry[] | undefined;
}

/**
 * Sends a batch to SQS and retries the entries that fail.
 *
 * @param entries - 1..`BATCH_MESSAGES` entries with distinct ids.
 * @param store - The queue's name in error messages.
 * @throws {ThriceError} The mapped error of the request, or of an entry that fails permanently or still
 *   fails on the last attempt.
 */
export async function sendBatch<Entry extends { readonly Id: string }>(
  entries: readonly Entry[],
  send: (entries: Entry[]) => Promise<SendBatchResponse>,
  {
    store,
    clock,
    random,
  }: { readonly store: string; readonly clock: Clock; readonly random: Random },
): Promise<void> {
  let pending = [...entries];
  for (let attemptCount = 1; ; attemptCount += 1) {
    const { Successful = [], Failed = [] } = await send(pending).catch((error: unknown) => {
      throw mapSdkError(error, store);
    });
    const done = new Set(Successful.map(({ Id }) => Id));
    pending = pending.filter(({ Id }) => !done.has(Id));
    if (pending.length === 0) return;
    const errors = pending.map(({ Id }) =>
      mapEntryError(Failed.find((entry) => entry.Id === Id) ?? {}, store),
    );
    const permanentError = errors.find((error) => error.class !== 'transient');
    const fatalError = permanentError ?? (attemptCount >= MAX_ATTEMPTS ? errors[0] : undefined);
    if (fatalError !== undefined) throw fatalError;
    await clock.sleep(backoffMs(attemptCount, { ...RETRY_BACKOFF, random }));
  }
}

/** Counts entries with a stale receipt as successful, since their messages belong to others now. */
export function ignoreStaleReceipts({
  Successful = [],
  Failed = [],
}: SendBatchResponse): SendBatchResponse {
  const stale = Failed.filter(({ Code = '' }) =>
    STALE_RECEIPT_ERRORS.includes(
      Code.startsWith(SQS_PREFIX) ? Code.slice(SQS_PREFIX.length) : Code,
    ),
  );
  return { Successful: [...Successful, ...stale], Failed };
}
