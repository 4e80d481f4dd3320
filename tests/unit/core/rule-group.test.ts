import {
  addGrading,
  benchmarkSpecSchema,
  type CellRow,
  type ComparedConfig,
  compareConfigs,
  copyGroup,
  finalizeGroup,
  type LoadedGroup,
  loadGroup,
  readConfigRows,
  readGradings,
  rerunCells,
  resolveBenchmark,
  ruleGroup,
  type Summary,
  saveComparison,
  verifyGroup,
  withCurrentGrading,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { RuledAs } from '../../../packages/core/src/domain/ruling.ts';
import { publishedKeys } from '../../../packages/core/src/publish/graded-group.ts';
import { scorerRegistry } from '../../../packages/core/src/scorers/registry.ts';
import { aModelResponse, anError, aQuestion } from '../../support/builders.ts';
import { crashingStores } from '../../support/crashing-stores.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { runKey } from '../../support/published-rows.ts';

const questions = ['q1', 'q2', 'filtered'].map((id) => aQuestion({ id }));

describe('ruleGroup', () => {
  it('counts the cells of an error class in rows and summaries, and keeps the figures before', async () => {
    const { engine, group } = await finished();
    const { header } = group;
    const before = await readFiles(engine, group);

    const regrading = await ruleGroup(group, [aRuling('wrong')], engine);
    const summary = await finalizeGroup(group, engine);

    expect(regrading).toMatchObject({
      isNew: true,
      grading: { number: 2, rulings: [aRuling('wrong')] },
    });
    expect(figuresOf(summary)).toEqual({ score: 2 / 3, coverage: 1, ruledWrong: 1 });
    expect(await rowOf(engine, group, 'filtered')).toMatchObject({
      outcome: 'failed',
      score: null,
      ruling: { class: 'content-filtered', as: 'wrong' },
      // No answer is graded again.
      grading: { number: 1 },
    });
    expect(await readFiles(engine, group, 'gradings/1')).toEqual(before);
    expect(await verifyGroup(header, engine.benchmark, engine)).toMatchObject({ mismatches: [] });
    const { ledger: _, ...files } = engine;
    expect(await verifyGroup(header, engine.benchmark, files)).toMatchObject({ mismatches: [] });
    expect(engine.models.requests.length).toBe(3);
  });

  it('as missing gives the same rows and summaries as before', async () => {
    const { engine, group } = await finished();
    const before = await readFiles(engine, group);
    await ruleGroup(group, [aRuling('wrong')], engine);
    await finalizeGroup(group, engine);

    await ruleGroup(group, [aRuling('missing', 'the filter was a mistake of ours')], engine);
    await finalizeGroup(group, engine);

    expect(await readFiles(engine, group)).toEqual(before);
    const gradings = await readGradings(group.header, engine.blobs);
    expect(gradings.map(({ rulings = [] }) => rulings.map(({ as }) => as))).toEqual([
      [],
      ['wrong'],
      ['missing'],
    ]);
    expect(await verifyGroup(group.header, engine.benchmark, engine)).toMatchObject({
      gradings: 3,
      mismatches: [],
    });
  });

  it('adds nothing if the class is ruled so already, for the same reason', async () => {
    const { engine, group } = await finished();
    await ruleGroup(group, [aRuling('wrong')], engine);

    const again = await ruleGroup(group, [aRuling('wrong')], engine);
    const other = await ruleGroup(group, [aRuling('wrong', 'of another reason')], engine);

    expect([again, other].map(({ isNew, grading }) => [isNew, grading.number])).toEqual([
      [false, 2],
      [true, 3],
    ]);
  });

  it('is one ruling or none, wherever a crash ends it', async () => {
    for (let afterWrites = 0; afterWrites < 30; afterWrites += 1) {
      const { engine, group } = await finished();
      const { clock, userCode } = engine;
      const crash = { afterWrites, isLastWriteStored: afterWrites % 2 === 1 };
      const dying = { ...crashingStores(engine, crash), clock, userCode };
      await ruleGroup(group, [aRuling('excluded')], dying).catch(() => undefined);

      const { isNew } = await ruleGroup(group, [aRuling('excluded')], engine);
      const summary = await finalizeGroup(group, engine);

      expect(figuresOf(summary)).toEqual({ score: 1, coverage: 1, ruledExcluded: 1 });
      expect(await verifyGroup(group.header, engine.benchmark, engine)).toMatchObject({
        gradings: 2,
        mismatches: [],
      });
      if (!isNew) return;
    }
    expect.unreachable('expected a crash after the ruling was written');
  });

  it('ends once the cell is answered after all', async () => {
    const { engine, group, turnFilterOff } = await finished();
    const { header } = group;
    await ruleGroup(group, [aRuling('wrong')], engine);
    const { configs } = await withCurrentGrading(header, engine.benchmark, engine.blobs);
    turnFilterOff();

    await rerunCells(header, header.runs, configs, engine);
    await engine.workAll();
    const summary = await finalizeGroup(group, engine);

    expect(figuresOf(summary)).toEqual({ score: 1, coverage: 1 });
    expect(summary.configs[0]?.unscored).toEqual([]);
  });

  it('outlives a rescore', async () => {
    const { engine, group } = await finished();
    await ruleGroup(group, [aRuling('wrong')], engine);

    const scorers = new Map([['a', { kind: 'includes' }]]);
    await addGrading(group, { specSha256: 'e'.repeat(64), scorers }, engine);
    const summary = await finalizeGroup(group, engine);

    expect(figuresOf(summary)).toEqual({ score: 2 / 3, coverage: 1, ruledWrong: 1 });
  });

  it('leaves grades of the plan as they are, whatever version of its scorer this release has', async () => {
    const { engine, group } = await finished();
    const exact = scorerRegistry.get('exact');
    if (exact === undefined) throw new Error('expected the scorer');
    const later = { ...engine, scorers: new Map([['exact', { ...exact, version: 9 }]]) };

    await ruleGroup(group, [aRuling('wrong')], later);
    const { grading } = await ruleGroup(group, [aRuling('missing')], later);

    expect(grading.configs.map(({ version }) => version)).toEqual([exact.version]);
  });

  it('refuses grades of a rescore by another version, because this release would give others', async () => {
    const { engine, group } = await finished();
    const scorers = new Map([['a', { kind: 'includes' }]]);
    await addGrading(group, { specSha256: 'e'.repeat(64), scorers }, engine);
    await finalizeGroup(group, engine);
    const includes = scorerRegistry.get('includes');
    if (includes === undefined) throw new Error('expected the scorer');
    const later = { ...engine, scorers: new Map([['includes', { ...includes, version: 9 }]]) };

    await expect(ruleGroup(group, [aRuling('wrong')], later)).rejects.toMatchObject({
      code: 'unsupported',
    });

    expect((await readGradings(group.header, engine.blobs)).length).toBe(2);
  });

  it('goes with its group to another engine', async () => {
    const { engine, group } = await finished();
    await ruleGroup(group, [aRuling('wrong')], engine);
    await finalizeGroup(group, engine);
    const target = new FakeEngine({ benchmark: engine.benchmark });
    const { createDigest } = engine.worker;

    await copyGroup(group, { from: engine, to: target, near: engine.blobs, createDigest });
    await finalizeGroup(group, target);

    expect(await readFiles(target, group)).toEqual(await readFiles(engine, group));
  });
});

describe('verify', () => {
  it.each([
    [
      'a row without its ruling',
      'cells/a.jsonl',
      ',"ruling":{"class":"content-filtered","as":"wrong"}',
      '',
    ],
    ['a row with another ruling', 'cells/a.jsonl', '"as":"wrong"', '"as":"excluded"'],
    ['another count of ruled cells', 'summary.json', '"ruledWrong": 1', '"ruledWrong": 2'],
    ['another score', 'summary.json', '"score": 0.6666666666666666', '"score": 0.6666666666666667'],
    ['a manifest without the reason', 'manifest.json', 'the vendor filters', 'nobody knows'],
    ['another exit code', 'manifest.json', '"exitCode": 0', '"exitCode": 1'],
  ])('finds %s', async (_, name, was, is) => {
    const { engine, group } = await finished();
    await ruleGroup(group, [aRuling('wrong')], engine);
    await finalizeGroup(group, engine);
    const key = keyOf(group, name);
    const text = (await engine.blobs.readText(key)) ?? '';
    expect(text).toContain(was);
    await engine.blobs.write(key, [text.replace(was, is)]);
    const { ledger: _ledger, ...files } = engine;

    const found = await verifyGroup(group.header, engine.benchmark, engine);
    const inFiles = await verifyGroup(group.header, engine.benchmark, files);

    expect(found.mismatches.join('\n')).toContain(name);
    expect(inFiles.mismatches.join('\n')).toContain(name);
  });

  it('computes a comparison again under the rulings that it was made with', async () => {
    const { engine, group } = await finished(['a', 'b']);
    const { header } = group;
    const compare = async () => {
      const benchmark = await withCurrentGrading(header, group.benchmark, engine.blobs);
      const [a, b] = benchmark.configs.map((config): ComparedConfig => {
        const readRows = (runs: readonly string[]) => readConfigRows(header, runs, config, engine);
        return { group: { header, benchmark }, config, runs: header.runs, readRows };
      });
      if (a === undefined || b === undefined) throw new Error('expected two configs');
      return await compareConfigs([[a, b]], {}, engine.worker.createDigest);
    };
    await saveComparison('plain', await compare(), engine.blobs);
    await ruleGroup(group, [aRuling('wrong')], engine);
    const ruled = await compare();
    await saveComparison('ruled', ruled, engine.blobs);
    await ruleGroup(group, [aRuling('missing')], engine);
    await saveComparison('again', await compare(), engine.blobs);
    await finalizeGroup(group, engine);
    const { ledger: _, ...files } = engine;

    const found = await verifyGroup(header, engine.benchmark, engine);
    const inFiles = await verifyGroup(header, engine.benchmark, files);

    expect(ruled.pairs).toMatchObject([
      {
        a: { grading: 2, rulings: { 'content-filtered': 'wrong' } },
        all: { n: 3, ruledA: 1, ruledB: 1, coverageA: 1, a: 2 / 3 },
      },
    ]);
    expect([found.mismatches, inFiles.mismatches]).toEqual([[], []]);
  });

  it('finds a ruling that the files do not show', async () => {
    const { engine, group } = await finished();
    await ruleGroup(group, [aRuling('wrong')], engine);
    const { ledger: _, ...files } = engine;

    const found = await verifyGroup(group.header, engine.benchmark, engine);
    const inFiles = await verifyGroup(group.header, engine.benchmark, files);

    for (const { mismatches } of [found, inFiles])
      expect(mismatches.join('\n')).toMatch(/filtered.*ruling/);
  });
});

function aRuling(as: RuledAs, why = 'the vendor filters') {
  const at = '2026-01-02T03:04:05.000Z';
  const origin = { commandLine: ['rule', 'demo'], toolVersion: '0.1.0' };
  return { class: 'content-filtered', as, why, at, ...origin };
}

/** A group of three cells, one of which its vendor filters. */
async function finished(configs = ['a']) {
  let isFilterOff = false;
  const spec = benchmarkSpecSchema.parse({
    questions: '/q.jsonl',
    lanes: { lab: { base_url: 'http://127.0.0.1:1/v1' } },
    configs: configs.map((name) => ({ name, model: 'lab/m' })),
  });
  const benchmark = resolveBenchmark(spec, 'b.toml');
  const engine = new FakeEngine({
    benchmark,
    answer: ({ cell }) =>
      cell?.id === 'filtered' && !isFilterOff ? anError('content-filtered') : aModelResponse(),
  });
  const header = await engine.plan(questions, { draft: { spec } });
  await engine.workAll();
  const group: LoadedGroup = {
    ...loadGroup({ header, state: 'active', isPlanned: true }),
    benchmark,
  };
  await finalizeGroup(group, engine);
  const turnFilterOff = () => {
    isFilterOff = true;
  };
  return { engine, group, turnFilterOff };
}

/** Rows, predictions, failures and summaries; manifests name their grading. */
async function readFiles(engine: FakeEngine, { header }: LoadedGroup, folder?: string) {
  const root = `runs/${header.group}${folder === undefined ? '' : `/${folder}`}`;
  const keys = publishedKeys(header, root).filter((key) => !key.endsWith('manifest.json'));
  return await Promise.all(
    keys.map(async (key) => [key.slice(root.length), await engine.blobs.readText(key)]),
  );
}

function keyOf({ header: { group, runs } }: LoadedGroup, name: string): string {
  return runKey(group, runs[0] ?? '', name);
}

async function rowOf(engine: FakeEngine, group: LoadedGroup, id: string): Promise<CellRow> {
  const text = (await engine.blobs.readText(keyOf(group, 'cells/a.jsonl'))) ?? '';
  const rows = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CellRow);
  const row = rows.find((each) => each.id === id);
  if (row === undefined) throw new Error('expected a row');
  return row;
}

/** The score and its coverage, and the counts of rulings that are not 0. */
function figuresOf({ configs }: Summary) {
  const [replicate] = configs[0]?.replicates ?? [];
  const { score, coverage, ruledWrong = 0, ruledExcluded = 0 } = replicate ?? {};
  return {
    ...{ score, coverage },
    ...(ruledWrong > 0 && { ruledWrong }),
    ...(ruledExcluded > 0 && { ruledExcluded }),
  };
}
