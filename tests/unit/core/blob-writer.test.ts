import { describe, expect, it } from 'vitest';
import { BlobWriter } from '../../../packages/core/src/publish/blob-writer.ts';
import { anError } from '../../support/builders.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';

const long = 'x'.repeat(50_000);

describe('BlobWriter', () => {
  it.each([
    ['nothing', []],
    ['a short text', ['a', 'b']],
    ['many pieces', Array.from({ length: 20 }, () => long)],
  ])('writes %s, whole and once', async (_, texts) => {
    const blobs = new FakeBlobStore();
    await using writer = new BlobWriter(blobs, 'k');

    for (const text of texts) await writer.add(text);
    await writer.end();

    expect(blobs.texts.get('k')).toBe(texts.join(''));
    expect(blobs.written).toEqual(['k']);
  });

  it('writes several blobs side by side', async () => {
    const blobs = new FakeBlobStore();
    await using one = new BlobWriter(blobs, 'one');
    await using other = new BlobWriter(blobs, 'other');

    for (let count = 0; count < 4; count += 1) {
      await one.add(long);
      await other.add('y');
    }
    await one.end();
    await other.end();

    expect([...blobs.texts].map(([key, text]) => [key, text.length])).toEqual([
      ['one', 200_000],
      ['other', 4],
    ]);
  });

  it('waits for a store that is slower, so that it holds one piece at most', async () => {
    const taken: number[] = [];
    const turns: (() => void)[] = [];
    const blobs = new FakeBlobStore();
    blobs.write = async (_, chunks) => {
      for await (const chunk of chunks) {
        taken.push(chunk.length);
        await new Promise<void>((resolve) => turns.push(resolve));
      }
    };
    await using writer = new BlobWriter(blobs, 'k');
    await writer.add(long);
    await writer.add(long);

    const third = Promise.resolve(writer.add(long)).then(() => writer.add(long));
    let isTaken = false;
    const waiting = third.then(() => {
      isTaken = true;
    });
    await new Promise((resolve) => setImmediate(resolve));

    expect(taken).toEqual([100_000]);
    expect(isTaken).toBe(false);
    turns.shift()?.();
    await waiting;
    const ended = writer.end();
    await new Promise((resolve) => setImmediate(resolve));
    for (const turn of turns) turn();
    await ended;
    expect(taken).toEqual([100_000, 100_000]);
  });

  it('leaves the earlier blob as it was if it is not ended', async () => {
    const blobs = new FakeBlobStore();
    blobs.texts.set('k', 'old');

    const work = async () => {
      await using writer = new BlobWriter(blobs, 'k');
      await writer.add(long);
      await writer.add(long);
      throw new Error('the rows ended early');
    };

    await expect(work()).rejects.toThrow('the rows ended early');
    expect(blobs.texts.get('k')).toBe('old');
  });

  it.each([0, 1, 2])('reports a store that fails after %i pieces', async (pieceCount) => {
    const blobs = new FakeBlobStore();
    blobs.write = async (_, chunks) => {
      let count = 0;
      if (pieceCount === 0) throw anError('store-unusable');
      for await (const _chunk of chunks) {
        count += 1;
        if (count === pieceCount) throw anError('store-unusable');
      }
    };

    const work = async () => {
      await using writer = new BlobWriter(blobs, 'k');
      for (let count = 0; count < 10; count += 1) await writer.add(long);
      await writer.end();
    };

    await expect(work()).rejects.toMatchObject({ code: 'store-unusable' });
  });
});
