import {
  type BoughtCalls,
  type CellResult,
  countBought,
  type GroupHeader,
  openQuestions,
  type Question,
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

function specOf({ configs = [{ name: 'a' }], replicates = 1, sharesCalls = false }: Plan) {
  return {
    ...aGroupHeader().spec,
    replicates,
    share_calls: sharesCalls,
    prices: { 'lab/m': { input: 1, output: 1 } },
    configs: configs.map((config) => {
      const { model, ...rest } = aConfigSpec();
      const hasOwn = (config.models ?? config.members) !== undefined;
      return { ...rest, ...(hasOwn ? {} : { model }), ...config };
    }),
  };
}

function questionOf(id: string): Question {
  return aQuestion({ id, question: `About ${id.slice(-1)}?` });
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
    const spec = specOf({ configs, replicates, sharesCalls });
    const benchmark = {
      ...resolveBenchmark(spec, 'benchmark.toml'),
      reusesCalls: reuse.length > 0,
    };
    const engine = new FakeEngine({
      benchmark,
      stores: this.first,
      answer: ({ model, messages, cell }) => {
        this.#requestCount += 1;
        // The cheap models agree on the second question, but for one config.
        const isSecond = model !== 'm' && JSON.stringify(messages).includes('About 2?');
        const isAgreed = isSecond && cell.config !== 'other';
        const text = isAgreed ? 'agreed' : String(this.#requestCount);
        return aModelResponse({ servedModel: model, output: anOutput({ text }) });
      },
    });
    const header = await engine.plan(ids.map(questionOf), {
      draft: { spec, reuse: reuse.map(({ group }) => group) },
    });
    await engine.workAll();
    return header;
  }

  /** What the estimate of a plan counts, by config. */
  async countByConfig({
    ids = ['q1'],
    reuse = [],
    ...plan
  }: Plan): Promise<ReadonlyMap<string, BoughtCalls>> {
    const { ledger, responseCache, userCode } = this.first;
    const rows = ids.map((id) => `${JSON.stringify(questionOf(id))}\n`);
    const files = new FakeSourceReader({ '/q.jsonl': rows.join('') });
    return await countBought(
      {
        benchmark: resolveBenchmark(specOf(plan), 'benchmark.toml'),
        source: openQuestions('/q.jsonl', (path) => path, files),
        select: undefined,
        earlier:
          reuse.length === 0 ? undefined : { groups: reuse, ledger, responseCache, userCode },
      },
      createTestDigest,
    );
  }

  /** The same over all configs. */
  async count(plan: Plan): Promise<Omit<BoughtCalls, 'prompts' | 'takingCells'>> {
    const counts = [...(await this.countByConfig(plan)).values()];
    const total = (pick: (bought: BoughtCalls) => number) =>
      counts.reduce((sum, bought) => sum + pick(bought), 0);
    return {
      reusedCells: total(({ reusedCells }) => reusedCells),
      sharedCells: total(({ sharedCells }) => sharedCells),
      fewestCalls: total(({ fewestCalls }) => fewestCalls),
      mostCalls: total(({ mostCalls }) => mostCalls ?? Number.NaN),
    };
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

describe('the estimate of a run', () => {
  const [strong, cheap, spare] = ['strong', 'cheap', 'spare'].map((model) => ({
    name: model,
    model: `lab/${model}`,
  })) as [Partial<ConfigSpec>, Partial<ConfigSpec>, Partial<ConfigSpec>];
  const members = [{ model: 'lab/cheap' }, { model: 'lab/spare' }];
  const many = { name: 'many', solver: 'vote', model: 'lab/cheap', samples: 3 };
  const panel = { name: 'panel', solver: 'vote', members };
  const arms = {
    name: 'arms',
    solver: 'cascade',
    members,
    agreement: 'text',
    escalate: { model: 'lab/strong' },
  } as const;
  const judged = {
    ...arms,
    name: 'judged',
    agreement: 'judge',
    judge: { model: 'lab/strong' },
  } as const;
  const router = {
    name: 'router',
    solver: 'router',
    models: ['lab/strong', 'lab/cheap'],
    fail_over: true,
  };
  const ids = ['q1', 'q2', 'q3'];

  it.each<[string, Plan | undefined, Plan, object]>([
    [
      'the replicates that an earlier group does not have',
      { configs: [cheap] },
      { configs: [cheap], replicates: 2 },
      { reusedCells: 3, fewestCalls: 3, mostCalls: 3 },
    ],
    [
      'the questions that it does not have',
      { configs: [cheap], ids: ['q1'] },
      { configs: [cheap] },
      { reusedCells: 1, fewestCalls: 2, mostCalls: 2 },
    ],
    ['nothing of the same vote', { configs: [many] }, { configs: [many] }, { reusedCells: 3 }],
    [
      'the samples that a vote has more',
      { configs: [many] },
      { configs: [{ ...many, samples: 5 }] },
      { reusedCells: 0, fewestCalls: 6, mostCalls: 6 },
    ],
    [
      'the members of a vote that no earlier config has asked',
      { configs: [cheap] },
      { configs: [panel] },
      { reusedCells: 0, fewestCalls: 3, mostCalls: 3 },
    ],
    ['nothing of the same cascade', { configs: [arms] }, { configs: [arms] }, { reusedCells: 3 }],
    [
      'what a cascade escalates, where its members do not agree',
      { configs: [cheap, spare] },
      { configs: [arms] },
      { reusedCells: 1, fewestCalls: 2, mostCalls: 2 },
    ],
    [
      'the judge of a cascade, and perhaps its escalation',
      { configs: [cheap, spare] },
      { configs: [judged] },
      { reusedCells: 0, fewestCalls: 3, mostCalls: 6 },
    ],
    [
      'a member, the judge of a cascade, and perhaps its escalation',
      { configs: [cheap] },
      { configs: [judged] },
      { reusedCells: 0, fewestCalls: 6, mostCalls: 9 },
    ],
    [
      'nothing of a router whose first model is recorded',
      { configs: [strong] },
      { configs: [router] },
      { reusedCells: 3 },
    ],
    [
      'what configs share once',
      undefined,
      { configs: [cheap, { ...cheap, name: 'again' }], sharesCalls: true, replicates: 2 },
      { sharedCells: 6, fewestCalls: 6, mostCalls: 6 },
    ],
    [
      'the members of a cascade that other configs ask as well once',
      undefined,
      { configs: [arms, cheap, spare, panel], sharesCalls: true },
      { sharedCells: 9, fewestCalls: 6, mostCalls: 9 },
    ],
    [
      'what configs share and no earlier group has',
      { configs: [cheap], ids: ['q1', 'q2'] },
      { configs: [cheap, { ...cheap, name: 'again' }], sharesCalls: true },
      { reusedCells: 4, sharedCells: 1, fewestCalls: 1, mostCalls: 1 },
    ],
  ])('counts %s', async (_, bought, planned, expected) => {
    const store = new Store();
    const reuse = bought === undefined ? [] : [await store.run({ ids, ...bought })];
    const boughtBefore = store.requestCount;
    const plan = { ids, ...planned, reuse };

    const counted = await store.count(plan);

    await store.run(plan);
    const run = store.requestCount - boughtBefore;
    expect(counted).toMatchObject(expected);
    expect(run).toBeGreaterThanOrEqual(counted.fewestCalls);
    expect(run).toBeLessThanOrEqual(counted.mostCalls ?? 0);
  });

  it('has the prompts of the calls that are bought', async () => {
    const store = new Store();
    const earlier = await store.run({ ids: ['q1'] });

    const counted = await store.countByConfig({ ids, replicates: 2, reuse: [earlier] });

    expect(counted.get('a')?.prompts).toMatchObject({ prompts: 5, messages: 5 });
  });

  it('follows a cascade over what a config of its name has bought, as its cells do', async () => {
    const store = new Store();
    const configs = [{ ...cheap, name: 'other' }, { ...cheap, name: 'arms' }, spare];
    const earlier = await store.run({ configs, ids: ['q2'] });
    const plan = { configs: [arms], ids: ['q2'], reuse: [earlier] };

    const counted = await store.count(plan);
    await store.run(plan);

    expect(counted.reusedCells).toBe(1);
    expect(store.requestCount).toBe(3);
  });
});
