import { type BlobStore, finalizeGroup } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { readQuestion } from '../../../packages/core/src/cells/read-question.ts';
import { aQuestion } from '../../support/builders.ts';
import { FakeBlobStore } from '../../support/fake-blob-store.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

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

describe('the stored questions of a group', () => {
  it('are an error where their file is missing, so that no results without rows replace those with rows', async () => {
    const engine = new FakeEngine();
    const header = await engine.plan([aQuestion()]);
    const { ledger, blobs, clock, userCode } = engine;
    const group = { header, benchmark: engine.benchmark, state: 'active' } as const;
    const finalize = () =>
      finalizeGroup(group, { ledger, blobs, clock, userCode }, { earlyEnd: undefined });
    await finalize();
    const published = new Map(blobs.texts);
    blobs.texts.delete(header.questions.key);
    published.delete(header.questions.key);

    await expect(finalize()).rejects.toMatchObject({ code: 'store-unusable' });

    expect(blobs.texts).toEqual(published);
  });
});
