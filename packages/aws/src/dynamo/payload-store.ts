import { createHash } from 'node:crypto';
import { type BlobStore, ThriceError } from '@thrice/core';
import * as z from 'zod';

/**
 * Payloads longer than this many bytes are stored in the blob store.
 *
 * An item is limited to 409,600 bytes. Besides its payload, a cell holds up to `limits.attemptLogLength`
 * attempts with error texts of `limits.errorTextChars` characters, each up to 6 bytes once JSON escapes
 * it: about 165,000 bytes.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html (2026-11)
 */
export const INLINE_BYTES = 200 * 1024;

/** The attributes that hold an item's JSON text or point to its blob. */
export const payloadSchema = z.object({
  payload: z.string().optional(),
  payloadKey: z.string().optional(),
  payloadSha256: z.string().optional(),
});
/** The attributes that hold an item's JSON text or point to its blob. */
export type Payload = z.infer<typeof payloadSchema>;

/** Names of the attributes of a {@link Payload}. */
export const payloadAttributes = ['payload', 'payloadKey', 'payloadSha256'] as const;

/** Keeps small payloads in their item and large ones in content-addressed blobs. */
export class PayloadStore {
  readonly #blobs: BlobStore;

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /** Returns the attributes for a text. A large text is stored before this resolves. */
  async pack(text: string): Promise<Readonly<Record<string, string>>> {
    if (Buffer.byteLength(text) <= INLINE_BYTES) return { payload: text };
    const sha256 = digestOf(text);
    const key = `spill/${sha256}.json`;
    await this.#blobs.write(key, [text]);
    return { payloadKey: key, payloadSha256: sha256 };
  }

  /**
   * Reads the text of an item.
   *
   * @returns The text, or undefined if the item has none.
   * @throws {ThriceError} `store-unusable` if a large text is missing or damaged.
   */
  async unpack({ payload, payloadKey, payloadSha256 }: Payload): Promise<string | undefined> {
    if (payload !== undefined || payloadKey === undefined) return payload;
    const text = await this.#blobs.readText(payloadKey);
    if (text !== undefined && digestOf(text) === payloadSha256) return text;
    const received = text === undefined ? 'nothing' : `sha256 ${digestOf(text)}`;
    throw new ThriceError({
      code: 'store-unusable',
      message: `${payloadKey}: expected sha256 ${payloadSha256 ?? '(none)'}, received ${received}; the blob is damaged`,
    });
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
