import { type BlobStore, readQuestion } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aQuestion } from '../../support/builders.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';

const key = 'questions/q.jsonl';

async function read(line: string) {
  const blobs: BlobStore = new FakeBlobStore();
  await blobs.write(key, [line]);
  return await readQuestion(blobs, { key, offset: 0, length: line.length });
}

describe('readQuestion', () => {
  it('returns the question that planning stored', async () => {
    const question = aQuestion();

    expect(await read(JSON.stringify(question))).toEqual(question);
  });

  it.each(['', '{"id": "q1", "que', '7', 'null', '[]', '{"id": 7, "tags": {}, "target": null}'])(
    'reports a damaged file for %j',
    async (line) => {
      await expect(read(line)).rejects.toMatchObject({
        code: 'store-unusable',
        message: `${key}: expected a stored question; the file is damaged`,
      });
    },
  );
});
