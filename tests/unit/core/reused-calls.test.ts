import {
  type CellResult,
  findReused,
  type GroupHeader,
  openQuestions,
  resolveBenchmark,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aGroupHeader, aModelResponse, anOutput, aQuestion } from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { createTestDigest, FakeSourceReader } from '../../support/fake-source-reader.ts';

type ConfigSpec = GroupHeader['spec']['configs'][number];

function aConfigSpec(): ConfigSpec {
  const [config] = aGroupHeader().spec.configs;
  if (config === undefined) throw new Error('expected a config');
  return config;
}

/** What a group is planned with. */
interface Plan {
  readonly configs?: readonly Partial<ConfigSpec>[];
  readonly ids?: readonly string[];
  readonly replicates?: number;
  readonly sharesCalls?: boolean;
  readonly reuse?: readonly GroupHeader[];
}

/**
 * Plans and works groups in one store, one after the other.
 *
 * Each answer of the model is another number, so that the outputs tell which call they are from.
 */
class Store {
  readonly first = new FakeEngine();
  #requestCount = 0;

  /** The number of calls that were bought. */
  get requestCount(): number {
    return this.#requestCount;
  }

  async run({
    configs = [{ name: 'a' }],
    ids = ['q1'],
    replicates = 1,
    sharesCalls = false,
    reuse = [],
  }: Plan = {}): Promise<GroupHeader> {
    const base = aGroupHeader().spec;
    const spec = {
      ...base,
      replicates,
      share_calls: sharesCalls,
      prices: { 'lab/m': { input: 1, output: 1 } },
      configs: configs.map((config) => ({ ...aConfigSpec(), ...config })),
    };
    const benchmark = {
      ...resolveBenchmark(spec, 'benchmark.toml'),
      reusesCalls: reuse.length > 0,
    };
    const engine = new FakeEngine({
      benchmark,
      stores: this.first,
      answer: () => {
        this.#requestCount += 1;
        return aModelResponse({ output: anOutput({ text: String(this.#requestCount) }) });
      },
    });
    const questions = ids.map((id) => aQuestion({ id, question: `About ${id.slice(-1)}?` }));
    const header = await engine.plan(questions, {
      draft: { spec, reuse: reuse.map(({ group }) => group) },
    });
    await engine.workAll();
    return header;
  }

  result(run: string | undefined, config: string, id = 'q1'): CellResult | undefined {
    return this.first.ledger.cell({ run: run ?? '', config, id })?.result;
  }
}

describe('a run that reuses another group', () => {
  it('takes what it asks the same, and says who has paid', async () => {
    const store = new Store();
    const earlier = await store.run({ ids: ['q1', 'q2'] });

    const later = await store.run({ ids: ['q1', 'q3'], reuse: [earlier] });

    expect(store.requestCount).toBe(3);
    const [run] = later.runs;
    expect(store.result(run, 'a')).toMatchObject({
      output: '1',
      costUsd: 0,
      calls: [
        {
          replayed: true,
          costUsd: 0,
          takenFrom: { run: earlier.runs[0], id: 'q1', config: 'a', step: 'answer' },
        },
      ],
    });
    expect(store.result(run, 'a', 'q3')).toMatchObject({
      output: '3',
      calls: [{ takenFrom: null }],
    });
  });

  it('finds a call by what was asked, whatever the question, config and group are called', async () => {
    const store = new Store();
    const earlier = await store.run({ configs: [{ name: 'old' }], ids: ['x1'] });

    await store.run({ configs: [{ name: 'new' }], ids: ['y1'], reuse: [earlier] });

    expect(store.requestCount).toBe(1);
  });

  it('buys what it asks otherwise', async () => {
    const store = new Store();
    const earlier = await store.run();

    await store.run({ configs: [{ name: 'a', temperature: 0 }], reuse: [earlier] });

    expect(store.requestCount).toBe(2);
  });

  it('takes the samples replicate by replicate, and buys those that are missing', async () => {
    const store = new Store();
    const earlier = await store.run({ replicates: 2 });

    const later = await store.run({ replicates: 3, reuse: [earlier] });

    expect(store.requestCount).toBe(3);
    const outputs = later.runs.map((run) => store.result(run, 'a')?.output);
    expect(outputs).toEqual(['1', '2', '3']);
  });

  it('keeps apart the answers of configs that ask the same, and gives a new one the first of them', async () => {
    const store = new Store();
    const earlier = await store.run({ configs: [{ name: 'a' }, { name: 'b' }] });

    const configs = [{ name: 'c' }, { name: 'b' }, { name: 'a' }];
    const later = await store.run({ configs, reuse: [earlier] });

    const outputs = ['a', 'b', 'c'].map((name) => store.result(later.runs[0], name)?.output);
    expect(outputs).toEqual(['1', '2', '1']);
    expect(store.requestCount).toBe(2);
  });

  it('takes from the first group that has the call, and names who has paid even where that one took it', async () => {
    const store = new Store();
    const first = await store.run();
    const second = await store.run({ reuse: [first] });

    const third = await store.run({ reuse: [second, first] });

    expect(store.requestCount).toBe(1);
    const [call] = store.result(third.runs[0], 'a')?.calls ?? [];
    expect(call?.takenFrom).toEqual({ run: first.runs[0], id: 'q1', config: 'a', step: 'answer' });
  });

  it('shares what it buys and takes the rest, if its configs share calls', async () => {
    const store = new Store();
    const earlier = await store.run();

    const configs = [{ name: 'a' }, { name: 'b' }];
    await store.run({ configs, ids: ['q1', 'q2'], sharesCalls: true, reuse: [earlier] });

    expect(store.requestCount).toBe(2);
  });

  it('keeps its answers when the group that it reuses is deleted, and buys what it had not taken', async () => {
    const store = new Store();
    const earlier = await store.run();
    const later = await store.run({ reuse: [earlier] });
    await store.first.ledger.deleteRecords(earlier.runs[0] ?? '', 'a');
    await store.first.ledger.deleteHeader(earlier.group);

    await store.run({ reuse: [earlier] });

    expect(store.result(later.runs[0], 'a')?.output).toBe('1');
    expect(store.requestCount).toBe(2);
  });
});

describe('the estimate of a run that reuses groups', () => {
  it('finds the cells whose call they have bought, replicate by replicate', async () => {
    const store = new Store();
    const earlier = await store.run({ ids: ['q1', 'q2'] });
    const rows = ['q1', 'q3'].map((id) =>
      JSON.stringify(aQuestion({ id, question: `About ${id.slice(-1)}?` })),
    );
    const files = new FakeSourceReader({ '/q.jsonl': `${rows.join('\n')}\n` });
    const benchmark = resolveBenchmark({ ...earlier.spec, replicates: 2 }, 'benchmark.toml');

    const reused = await findReused(
      {
        benchmark,
        source: openQuestions('/q.jsonl', (path) => path, files),
        select: undefined,
        groups: [earlier],
      },
      { pool: store.first.pool, createDigest: createTestDigest },
    );

    expect(reused.get('a')).toMatchObject({ cells: 1, bought: { prompts: 3 } });
  });
});
