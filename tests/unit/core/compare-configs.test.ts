import {
  type BenchmarkSpec,
  benchmarkSpecSchema,
  type ComparedConfig,
  type Comparison,
  type ComparisonRequest,
  compareConfigs,
  loadGroup,
  type Question,
  readConfigRows,
  resolveBenchmark,
  withCurrentGrading,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { comparisonSchema } from '../../../packages/core/src/compare/comparison.ts';
import { aModelResponse, anError, anOutput, aQuestion } from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { createTestDigest } from '../../support/fake-source-reader.ts';

/** Twelve questions on two topics, of which the model "good" answers all and "bad" the last four. */
const questions = Array.from({ length: 12 }, (_, index) =>
  aQuestion({
    id: `q${index}`,
    question: `What is ${index}?`,
    target: ['42'],
    tags: { topic: index < 6 ? 'sums' : 'words' },
  }),
);
const numberOf = (text: string) => Number(/What is (\d+)/.exec(text)?.[1]);
const answer: FakeAnswer = ({ model, messages }) => {
  const isRight = model === 'good' || numberOf(JSON.stringify(messages)) >= 8;
  if (model === 'broken') return anError('content-filtered');
  return aModelResponse({ output: anOutput({ text: isRight ? '42' : '7' }), servedModel: model });
};

type ConfigParts = Partial<BenchmarkSpec['configs'][number]>;

/** The configs of a finished group. */
async function finished(
  configs: readonly ConfigParts[],
  { rows = questions, ...top }: Partial<BenchmarkSpec> & { rows?: readonly Question[] } = {},
): Promise<readonly ComparedConfig[]> {
  const spec = benchmarkSpecSchema.parse({
    questions: '/q.jsonl',
    lanes: { lab: { base_url: 'http://127.0.0.1:1/v1' } },
    configs,
    ...top,
  });
  const benchmark = resolveBenchmark(spec, 'b.toml');
  const engine = new FakeEngine({ benchmark, answer });
  const header = await engine.plan(rows, { draft: { spec } });
  await engine.workAll();
  const group = loadGroup({ header, state: 'active', isPlanned: true });
  const graded = await withCurrentGrading(header, benchmark, engine.blobs);
  return graded.configs.map((config) => ({
    ...{ group, config, runs: header.runs },
    readRows: (read) => readConfigRows(header, read, config, engine),
  }));
}

const good = { name: 'good', model: 'lab/good' };
const bad = { name: 'bad', model: 'lab/bad', temperature: 0.5 };

async function compare(
  a: ComparedConfig | undefined,
  b: ComparedConfig | undefined,
  request: ComparisonRequest = {},
): Promise<Comparison> {
  if (a === undefined || b === undefined) throw new Error('expected two configs');
  return await compareConfigs([[a, b]], request, createTestDigest);
}

describe('comparing configs', () => {
  it('says which is better, by how much, on which questions, and what else differs', async () => {
    const [first, second] = await finished([good, bad]);

    const comparison = await compare(first, second);

    expect(comparisonSchema.parse(JSON.parse(JSON.stringify(comparison)))).toEqual(comparison);
    const [pair] = comparison.pairs;
    expect(pair?.all).toMatchObject({ n: 12, a: 1, gained: 8, lost: 0, verdict: 'better' });
    expect(pair?.all.difference).toBeCloseTo(8 / 12, 12);
    expect(pair?.differs).toEqual([
      { key: 'model', a: '"lab/good"', b: '"lab/bad"' },
      { key: 'temperature', a: null, b: '0.5' },
    ]);
    expect(pair?.changed.map(({ id }) => id)).toEqual(questions.slice(0, 8).map(({ id }) => id));
  });

  it('compares the values of a tag beside each other', async () => {
    const [first, second] = await finished([good, bad]);

    const { pairs } = await compare(first, second, { tag: 'topic' });

    const byTag = pairs[0]?.byTag;
    expect(byTag?.['sums']).toMatchObject({ n: 6, difference: 1, gained: 6 });
    expect(byTag?.['words']).toMatchObject({ n: 6, gained: 2 });
    // 2 x 2^-6, and of two tests the lower one twice.
    expect(byTag?.['sums']?.exact?.pValue.p).toBeCloseTo(0.03125, 12);
    expect(byTag?.['sums']?.pHolm?.p).toBeCloseTo(0.0625, 12);
    expect(byTag?.['sums']?.verdict).toBe('not resolved');
  });

  it('reads metrics, by the direction that their scorer declares', async () => {
    const metadata = { required_keywords: ['42'], must_have_citations: 0 };
    const [first, second] = await finished(
      [good, bad].map((config) => ({ ...config, scorer: 'keyword' })),
      { rows: questions.map((question) => ({ ...question, metadata })) },
    );

    const { pairs, better, figure } = await compare(first, second, { figure: 'keyword_coverage' });

    expect([figure, better]).toEqual(['keyword_coverage', 'higher']);
    expect(pairs[0]?.all).toMatchObject({ n: 12, verdict: 'better' });
  });

  it('names prompts, scorers and prices that differ, in the words of the spec', async () => {
    const prices = (output: number) => ({ 'lab/good': { input: 1, output } });
    const [first] = await finished([{ ...good, prompt: 'Say: {{question}}' }], {
      prices: prices(2),
    });
    const [second] = await finished([{ ...good, scorer: 'includes' }], { prices: prices(3) });

    const { pairs } = await compare(first, second);

    expect(pairs[0]?.differs).toEqual([
      { key: 'prompt', a: 'a text of 17 characters', b: null },
      { key: 'scorer', a: '{"kind":"exact"}', b: '{"kind":"includes"}' },
      expect.objectContaining({ key: 'prices."lab/good"' }),
    ]);
    expect(pairs[0]?.all).toMatchObject({ difference: 0, verdict: 'not resolved' });
  });

  it('refuses questions that are asked in other words, unless they are allowed and counted', async () => {
    const [first] = await finished([good]);
    const others = questions.map((question, index) =>
      index < 3 ? { ...question, question: `${question.question} Be brief.` } : question,
    );
    const [second] = await finished([good], { rows: others });

    await expect(compare(first, second)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(
        'received 3 questions of the same id whose texts differ or are unknown',
      ) as string,
    });
    const { pairs } = await compare(first, second, { allowsOtherTexts: true });
    expect(pairs[0]).toMatchObject({ otherTexts: 3, all: { n: 12 } });
  });

  it('takes questions with other targets, tags and more of them for the same ones', async () => {
    const [first] = await finished([good]);
    const more = [
      ...questions.map((question) => ({ ...question, target: ['41'], tags: {} })),
      aQuestion({ id: 'new' }),
    ];
    const [second] = await finished([good], { rows: more });

    const { pairs } = await compare(first, second);

    expect(pairs[0]).toMatchObject({
      otherTexts: 0,
      all: { n: 12, questions: 12, onlyB: 1, lost: 0 },
    });
  });

  it('has no verdict on a config that failed, and says what the difference can be', async () => {
    const [first, second] = await finished([good, { ...bad, model: 'lab/broken' }]);

    const { pairs } = await compare(first, second);

    expect(pairs[0]?.all).toMatchObject({ n: 0, coverageA: 1, coverageB: 0, why: 'too-few' });
    expect(pairs[0]?.all).toMatchObject({ verdict: 'not resolved', bounds: [0, 1] });
  });

  it('reads the rows of a config once, and corrects for the number of pairs', async () => {
    const [first, second, third] = await finished([good, bad, { ...bad, name: 'same' }]);
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('three');

    const { pairs } = await compareConfigs(
      [
        [first, second],
        [first, third],
      ],
      {},
      createTestDigest,
    );

    // 2 x 2^-8, twice.
    for (const { all } of pairs) {
      expect(all.exact?.pValue.p).toBeCloseTo(0.0078125, 12);
      expect(all.pHolm?.p).toBeCloseTo(0.015625, 12);
    }
  });

  it('compares the values of a tag beside those of all pairs', async () => {
    const configs = await finished([good, bad, { ...bad, name: 'same' }]);
    const [first, second, third] = configs;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('three');

    const { pairs } = await compareConfigs(
      [
        [first, second],
        [first, third],
      ],
      { tag: 'topic' },
      createTestDigest,
    );

    // 2 x 2^-6, of four tests; of those with 2 questions against none, p is 0.5.
    for (const { byTag } of pairs) {
      expect(byTag['sums']?.exact?.pValue.p).toBeCloseTo(0.03125, 12);
      expect(byTag['sums']?.pHolm?.p).toBeCloseTo(0.125, 12);
      expect(byTag['words']?.pHolm?.p).toBeCloseTo(1, 12);
    }
  });

  it.each([
    [{ figure: 'elo' }, '--on: expected a figure that all of them have (score), received "elo"'],
    [{ tag: 'level' }, '--by: unknown tag "level" (expected topic)'],
    [{ tag: 'topik' }, 'did you mean "topic"?'],
  ])('refuses %j', async (request, message) => {
    const [first, second] = await finished([good, bad]);

    await expect(compare(first, second, request)).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining(message) as string,
    });
  });
});
