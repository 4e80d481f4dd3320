import { describe, expect, it } from 'vitest';
import { INLINE_BYTES, PayloadStore } from '../../../packages/aws/src/dynamo/payload-store.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';

describe('the payload of an item', () => {
  it.each([
    { title: 'one-byte characters', character: 'a', bytes: 1 },
    { title: 'two-byte characters', character: 'é', bytes: 2 },
    { title: 'four-byte characters', character: '🙂', bytes: 4 },
  ])('stays in the item up to 200 KiB of $title', async ({ character, bytes }) => {
    const blobs = new FakeBlobStore();
    const payloads = new PayloadStore(blobs);
    const text = character.repeat((200 * 1_024) / bytes);

    const inline = await payloads.pack(text);
    const longer = await payloads.pack(`${text}a`);

    expect(inline).toEqual({ payload: text });
    expect(Object.keys(longer)).toEqual(['payloadKey', 'payloadSha256']);
    expect(await payloads.unpack(longer)).toBe(`${text}a`);
  });

  it('is refused if its blob was changed', async () => {
    const blobs = new FakeBlobStore();
    const payloads = new PayloadStore(blobs);
    const packed = await payloads.pack('a'.repeat(INLINE_BYTES + 1));
    blobs.texts.set(packed['payloadKey'] ?? '', 'a'.repeat(INLINE_BYTES + 2));

    await expect(payloads.unpack(packed)).rejects.toMatchObject({ code: 'store-unusable' });
  });
});
