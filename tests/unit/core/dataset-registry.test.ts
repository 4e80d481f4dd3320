import {
  createBenchmarkSpecSchema,
  groupHeaderSchema,
  openQuestions,
  SummaryBuilder,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { scorerRegistry } from '../../../packages/core/src/scorers/registry.ts';
import {
  createDatasetRegistry,
  type Dataset,
} from '../../../packages/core/src/spec/datasets/dataset.ts';
import { datasetRegistry } from '../../../packages/core/src/spec/datasets/registry.ts';
import { parseSpec } from '../../../packages/core/src/spec/parse-spec.ts';
import { aCellRow, aGroupHeader, aQuestion } from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { FakeSourceReader } from '../../support/fake-source-reader.ts';

/** One question per line of a text file. */
const lines: Dataset = {
  name: 'lines',
  repository: undefined,
  defaults: { scorer: { kind: 'exact' } },
  files: async ({ path }) => [`${path}/lines.txt`],
  async *load({ path }, reader) {
    let index = 0;
    for await (const line of reader.readLines(`${path}/lines.txt`)) {
      yield aQuestion({ id: `lines/${index}`, question: line });
      index += 1;
    }
  },
};
const registry = createDatasetRegistry([...datasetRegistry.values(), lines]);
const schema = createBenchmarkSpecSchema({
  scorers: scorerRegistry.values(),
  datasets: registry.keys(),
  solvers: ['direct'],
});
const reader = new FakeSourceReader({ '/bench/data/lines.txt': 'One?\nTwo?\n' });
const resolvePath = (path: string) => `/bench/${path}`;

describe('an added dataset', () => {
  it('provides the files and questions of a benchmark', async () => {
    const source = openQuestions({ dataset: 'lines', path: 'data' }, resolvePath, reader, {
      datasets: registry,
    });

    const questions = await collect(source.read());

    expect(await source.files()).toEqual(['/bench/data/lines.txt']);
    expect(questions.map(({ id, question }) => [id, question])).toEqual([
      ['lines/0', 'One?'],
      ['lines/1', 'Two?'],
    ]);
  });

  it('is accepted by the spec schema', () => {
    const questions = { dataset: 'lines', path: 'data' };

    expect(parseSpec(specOf(questions), 'demo.toml', schema).questions).toEqual(questions);
  });

  it('is named in the error for another dataset', () => {
    const parsing = () => parseSpec(specOf({ dataset: 'lab', path: 'x' }), 'demo.toml', schema);

    expect(parsing).toThrow(
      'questions.dataset: expected a dataset of this version (bbh, gsm8k, mmlu, mmlu-pro, gpqa, hle, arc, hellaswag, truthfulqa, winogrande, commonsenseqa, mgsm, aime, lines), received "lab"',
    );
  });

  it('has its own averages in a summary', () => {
    const averages = new Map([
      ['lines', () => [{ name: 'half', label: 'always one half', value: 0.5 }]],
    ]);
    const builder = new SummaryBuilder(aGroupHeader({ dataset: 'lines' }), 0, { averages });
    builder.add(aCellRow());

    const summary = builder.build();

    expect(summary.configs[0]?.averages).toEqual([
      { name: 'half', label: 'always one half', value: 0.5 },
    ]);
  });
});

describe('a dataset that is not registered', () => {
  it('is accepted in a stored group', () => {
    const header = aGroupHeader({
      dataset: 'lines',
      spec: parseSpec(specOf({ dataset: 'lines', path: 'data' }), 'demo.toml', schema),
    });

    expect(groupHeaderSchema.parse(header)).toEqual(header);
  });

  it('is rejected when its questions are opened', () => {
    const opening = () => openQuestions({ dataset: 'lines', path: 'data' }, resolvePath, reader);

    expect(opening).toThrow(
      expect.objectContaining({
        code: 'unknown-dataset',
        message: expect.stringContaining('unknown dataset "lines" (expected bbh, gsm8k') as string,
      }),
    );
  });
});

function specOf(questions: object): unknown {
  return { questions, configs: [{ name: 'a', model: 'openai/x' }] };
}
