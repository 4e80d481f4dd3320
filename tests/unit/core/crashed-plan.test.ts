import {
  checkQuestions,
  enqueueGroup,
  limits,
  openQuestions,
  readStoredQuestions,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aQuestion } from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { crashingStores } from '../../support/crashing-stores.ts';
import { aDraft, FakeEngine } from '../../support/fake-engine.ts';
import { createTestDigest, FakeSourceReader } from '../../support/fake-source-reader.ts';
import { planGroup } from '../../support/plan-group.ts';

/** More questions than a page has, so that there is a moment to stop between two pages. */
const questions = Array.from({ length: limits.pageSize + 1 }, (_, index) =>
  aQuestion({ id: `q${index}` }),
);

/** The input to plan a group of these questions. */
async function aPlan({ benchmark, clock }: FakeEngine) {
  const text = questions.map((question) => `${JSON.stringify(question)}\n`).join('');
  const reader = new FakeSourceReader({ '/q.jsonl': text });
  const source = openQuestions('/q.jsonl', (path) => path, reader);
  const checked = await checkQuestions(source, undefined, benchmark.configs, createTestDigest);
  const skipped = new Map<string, string>();
  return { benchmark, draft: aDraft(), source, checked, skipped, clock, random: () => 0 };
}

describe('a plan whose process crashes', () => {
  it.each([0, 1, 2, 3, 4])(
    'after %i writes leaves no group whose questions are missing',
    async (afterWrites) => {
      for (const isLastWriteStored of [false, true]) {
        const engine = new FakeEngine();
        const stores = crashingStores(engine, { afterWrites, isLastWriteStored });

        await planGroup(await aPlan(engine), { ...stores, queueOf: () => stores.queue }).catch(
          () => undefined,
        );

        for (const { header, isPlanned } of await engine.ledger.listGroups()) {
          const stored = await collect(readStoredQuestions(header, engine.blobs));
          expect(stored).toHaveLength(questions.length);
          expect(isPlanned && engine.queue.sent.length < questions.length).toBe(false);
        }
      }
    },
  );
});

describe('a plan that is interrupted', () => {
  it('ends between two pages and stays unplanned, until the next process sends the rest', async () => {
    const engine = new FakeEngine();
    const { ledger, responseCache, blobs, queue, benchmark } = engine;
    const plan = await aPlan(engine);

    const planned = planGroup(
      { ...plan, signal: AbortSignal.abort() },
      { ledger, responseCache, blobs, queueOf: () => queue },
    );

    await expect(planned).rejects.toMatchObject({ code: 'interrupted' });
    const [interrupted] = await ledger.listGroups();
    if (interrupted === undefined) throw new Error('expected a group');
    expect(interrupted.isPlanned).toBe(false);
    expect(queue.sent).toHaveLength(limits.pageSize);
    await enqueueGroup(interrupted.header, benchmark, engine);
    expect(await ledger.listGroups()).toMatchObject([{ isPlanned: true }]);
    expect(new Set(queue.sent.map(({ task }) => task.id)).size).toBe(questions.length);
  });
});
