import {
  addGrading,
  type BlobStore,
  type CellRow,
  executeCell,
  finalizeGroup,
  type GroupCode,
  groupKey,
  type LoadedGroup,
  limits,
  loadGroup,
  readGradings,
  rerunCells,
  type SpecScorers,
  type Summary,
  type UserCode,
  verifyGroup,
  withCurrentGrading,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { ScorerSpec } from '../../../packages/core/src/domain/scorer.ts';
import { scorerRegistry } from '../../../packages/core/src/scorers/registry.ts';
import {
  aBenchmark,
  aCellResult,
  aConfig,
  aModelResponse,
  anError,
  anOutput,
  aQuestion,
} from '../../support/builders.ts';
import { type Crash, crashingStores } from '../../support/crashing-stores.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { runKey } from '../../support/published-rows.ts';

const questions = ['q1', 'q2', 'broken'].map((id) => aQuestion({ id }));

describe('addGrading', () => {
  it('makes the scorers of an edited spec those of the group', async () => {
    const { engine, group } = await finished();

    const regrading = await addGrading(group, edited({ a: { kind: 'includes' } }), engine);
    const summary = await finalizeGroup(group, engine);

    expect(regrading).toEqual({
      isNew: true,
      grading: {
        number: 2,
        createdAt: engine.clock.toIso(engine.clock.now()),
        specSha256: 'e'.repeat(64),
        configs: [
          {
            config: 'a',
            scorer: { kind: 'includes' },
            version: scorerRegistry.get('includes')?.version,
          },
          { config: 'b', scorer: { kind: 'exact' }, version: scorerRegistry.get('exact')?.version },
        ],
      },
    });
    expect(correctOf(summary)).toEqual({ a: 2, b: 0 });
    expect(correctOf(await readSummary(engine, `${group.header.group}`))).toEqual({ a: 2, b: 0 });
    expect(correctOf(await readSummary(engine, `${group.header.group}/gradings/1`))).toEqual({
      a: 0,
      b: 0,
    });
    expect(engine.models.requests.length).toBe(6);
  });

  it('leaves the results in the ledger as they were, and corrects the tallies', async () => {
    const { engine, group } = await finished();
    const [run = ''] = group.header.runs;
    const before = await engine.ledger.readCells(run, 'a', ['q1']);

    await addGrading(group, edited({ a: { kind: 'includes' } }), engine);
    await finalizeGroup(group, engine);

    expect(await engine.ledger.readCells(run, 'a', ['q1'])).toEqual(before);
    const tallies = await engine.ledger.readTallies(run);
    expect(tallies.map(({ config, correct }) => [config, correct])).toEqual([
      ['a', 2],
      ['b', 0],
    ]);
  });

  it('adds nothing if the scorers are the current ones, whatever the order of their parameters', async () => {
    const { engine, group } = await finished();
    await addGrading(group, edited({ a: { kind: 'regex', pattern: 'x', more: 1 } }), engine);

    const again = await addGrading(
      group,
      edited({ a: { more: 1, pattern: 'x', kind: 'regex' } }),
      engine,
    );

    expect(again).toMatchObject({ isNew: false, grading: { number: 2 } });
    expect((await readGradings(group.header, engine.blobs)).length).toBe(2);
  });

  it('adds a grading if this release has another version of a scorer', async () => {
    const { engine, group } = await finished();
    const exact = scorerRegistry.get('exact');
    if (exact === undefined) throw new Error('expected the scorer');
    const scorers = new Map([['exact', { ...exact, version: 9 }]]);

    const regrading = await addGrading(group, undefined, { ...engine, scorers });

    expect(regrading).toMatchObject({ isNew: true, grading: { number: 2 } });
    expect(regrading.grading.configs.map(({ version }) => version)).toEqual([9, 9]);
  });

  it('copies the files of a grading that this release would make differently, or refuses if they are not its', async () => {
    const { engine, group } = await rescored(edited({ a: { kind: 'includes' } }));
    const { group: name, runs } = group.header;
    const includes = scorerRegistry.get('includes');
    if (includes?.reads !== 'text') throw new Error('expected the scorer');
    // A later version that finds every answer wrong.
    const scorers = new Map([
      ...scorerRegistry,
      ['includes', { ...includes, version: 9, matches: () => false }],
    ]);
    const stores = { ...engine, scorers };
    const before = new Map(engine.blobs.texts);

    await addGrading(group, undefined, stores);
    await finalizeGroup(group, stores);

    const files = [...before.keys()].filter(
      (key) => key.startsWith(`runs/${name}/`) && !key.includes('/grading'),
    );
    expect(files.length).toBe(11);
    for (const key of files) {
      const copy = key.replace(`runs/${name}/`, `runs/${name}/gradings/2/`);
      expect([copy, engine.blobs.texts.get(copy)]).toEqual([copy, before.get(key)]);
    }
    expect(correctOf(await readSummary(engine, name))).toEqual({ a: 0, b: 0 });
    const other = JSON.stringify({ grading: { number: 1 } });
    const [run = ''] = runs;
    for (const key of files) {
      const text = engine.blobs.texts.get(key) ?? '';
      engine.blobs.texts.set(key.replaceAll(run, 'second'), text);
    }
    engine.blobs.texts.set(`runs/${name}/second/manifest.json`, other);
    const withSecond = { ...group, header: { ...group.header, runs: [run, 'second'] } };
    await expect(addGrading(withSecond, undefined, engine)).rejects.toMatchObject({
      code: 'unsupported',
    });
  });

  it('refuses a scorer that this release does not have, and changes nothing', async () => {
    const { engine, group } = await finished();
    const before = new Map(engine.blobs.texts);

    const adding = addGrading(group, edited({ a: { kind: 'telepathy' } }), engine);

    await expect(adding).rejects.toMatchObject({ code: 'unsupported' });
    expect(engine.blobs.texts).toEqual(before);
  });

  it('grades nothing again for a config whose scorer stays', async () => {
    const { engine, group } = await finished();

    await addGrading(group, edited({ a: { kind: 'includes' } }), engine);

    const { configs } = await withCurrentGrading(group.header, group.benchmark, engine.blobs);
    expect(configs.map(({ name, grading }) => [name, grading])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  it('grades again with a scorer that an earlier grading had, but not the one between', async () => {
    const { engine, group } = await finished();
    await addGrading(group, edited({ a: { kind: 'includes' } }), engine);
    await addGrading(group, edited({ a: { kind: 'exact' } }), engine);

    const { configs } = await withCurrentGrading(group.header, group.benchmark, engine.blobs);

    expect(configs.map(({ name, grading }) => [name, grading])).toEqual([
      ['a', 3],
      ['b', 1],
    ]);
  });

  it('names a damaged list of gradings', async () => {
    const { engine, group } = await finished();
    const key = groupKey(group.header.group, 'gradings.json');
    engine.blobs.texts.set(key, '{');

    await expect(finalizeGroup(group, engine)).rejects.toMatchObject({
      code: 'store-unusable',
      message: `${key}: expected the gradings of a group; the file is damaged`,
    });
  });
});

describe('a crash during a rescore', () => {
  it('leaves the earlier grading whole or the new one, wherever it comes, and a repeat ends it', async () => {
    const change = edited({ a: { kind: 'includes' } });
    const { length: writeCount } = (await rescored(change)).engine.blobs.written;
    const { length: beforeCount } = (await finished()).engine.blobs.written;

    for (let afterWrites = 0; afterWrites < writeCount - beforeCount; afterWrites += 1) {
      await checkCrash(change, { afterWrites, isLastWriteStored: false });
      await checkCrash(change, { afterWrites, isLastWriteStored: true });
    }
  });
});

async function checkCrash(change: SpecScorers, crash: Crash): Promise<void> {
  const { engine, group } = await finished();
  const { blobs, clock, userCode } = engine;
  const dying = { ...crashingStores(engine, crash), clock, userCode };
  await expect(
    addGrading(group, change, dying).then(() => finalizeGroup(group, dying)),
  ).rejects.toThrow('the process has crashed');

  // The folder of an earlier grading counts only once the list names a later one.
  const isAdded = blobs.texts.has(groupKey(group.header.group, 'gradings.json'));
  const whole = isAdded ? `${group.header.group}/gradings/1` : group.header.group;
  expect(correctOf(await readSummary(engine, whole))).toEqual({ a: 0, b: 0 });
  const { mismatches } = await verifyGroup(group.header, group.benchmark, engine);
  const isOfEarlier = (mismatch: string) => mismatch.includes('/gradings/');
  expect(mismatches.filter(isAdded ? isOfEarlier : () => true)).toEqual([]);

  const repeated = await addGrading(group, change, engine);
  await finalizeGroup(group, engine);

  expect(repeated).toMatchObject({ isNew: !isAdded, grading: { number: 2 } });
  expect(await verifyGroup(group.header, group.benchmark, engine)).toMatchObject({
    gradings: 2,
    mismatches: [],
  });
  expect(correctOf(await readSummary(engine, group.header.group))).toEqual({ a: 2, b: 0 });
}

describe('work after a rescore', () => {
  it('is graded by the current grading, whoever graded a cell', async () => {
    const { engine, group } = await finished();
    const { header } = group;
    await addGrading(group, edited({ a: { kind: 'regex', pattern: '\\d+' } }), engine);
    await finalizeGroup(group, engine);
    const [run = ''] = header.runs;
    const key = { run, config: 'a', id: 'broken' };
    const { ledger } = engine;
    const result = (await ledger.readCells(run, 'a', ['q1'])).get('q1')?.result;
    if (result === undefined) throw new Error('expected a result');
    // As a worker that began before the rescore writes it.
    ledger.putCell({ key, state: 'done', generation: 1, attempts: 1, attemptLog: [], result });

    const summary = await finalizeGroup(group, engine);

    expect(correctOf(summary)).toEqual({ a: 3, b: 0 });
    const earlier = runKey(header.group, `gradings/1/${run}`, 'cells/a.jsonl');
    expect(engine.blobs.texts.get(earlier)).toContain('"outcome":"failed"');
  });
});

describe('a rescore with a pattern without end', () => {
  const ids = ['fine', 'a', 'b', 'c', 'd', 'e', 'late', 'f'];
  /** Ends with a timeout on every answer but those of `fine` and `late`. */
  const answerOf = (id: string) => (['fine', 'late'].includes(id) ? '42' : 'hostile');

  async function endless() {
    let matchCount = 0;
    const userCode: UserCode & GroupCode = {
      ...inProcessPatterns,
      match: async (_, text) => {
        matchCount += 1;
        return text === 'hostile' ? { kind: 'timeout' } : { kind: 'found', text };
      },
    };
    const benchmark = aBenchmark({ configs: [aConfig({ name: 'a' })], replicates: 2 });
    const answer: FakeAnswer = ({ cell }) =>
      aModelResponse({ output: anOutput({ text: answerOf(cell.id) }) });
    const engine = new FakeEngine({ benchmark, userCode, answer });
    const header = await engine.plan(ids.map((id) => aQuestion({ id })));
    await engine.workAll();
    const group: LoadedGroup = {
      ...loadGroup({ header, state: 'active', isPlanned: true }),
      benchmark,
    };
    await finalizeGroup(group, engine);
    await addGrading(group, edited({ a: { kind: 'regex', pattern: '(a+)+$' } }), engine);
    await finalizeGroup(group, engine);
    return { engine, group, matches: () => matchCount };
  }

  it('gives the pattern up in each run, and verifies', async () => {
    const { engine, group, matches } = await endless();
    const { header, benchmark } = group;

    const matchCount = matches();
    const found = await verifyGroup(header, benchmark, engine);
    const { blobs, userCode, createDigest } = engine;
    const alone = await verifyGroup(header, benchmark, { blobs, userCode, createDigest });

    // In each of two runs: the score, then the timeouts after which the pattern is given up.
    expect(matchCount).toBe(2 * (1 + limits.patternTimeouts));
    for (const run of header.runs) {
      const text = await blobs.readText(runKey(header.group, run, 'cells/a.jsonl'));
      const rows = (text ?? '').trimEnd().split('\n');
      const reasons = rows.map((row) => (JSON.parse(row) as CellRow).reason);
      expect(reasons).toEqual([null, ...Array<string>(7).fill('scorer-timeout')]);
    }
    expect(found.mismatches).toEqual([]);
    expect(alone.mismatches).toEqual([]);
  });

  it('does not verify if too few of the timeouts occur again', async () => {
    const { engine, group } = await endless();
    const { blobs, createDigest } = engine;
    const userCode: UserCode & GroupCode = {
      ...inProcessPatterns,
      match: async (_, text) => ({ kind: 'found', text: text === 'hostile' ? '41' : text }),
    };

    const found = await verifyGroup(group.header, group.benchmark, {
      blobs,
      userCode,
      createDigest,
    });

    expect(found.mismatches.length).toBe(2 * 7);
    expect(found.mismatches[0]).toContain('recorded ungraded null (scorer-timeout), but');
  });
});

describe('a rerun after a rescore that gave every cell a score', () => {
  it('sends no cell that has a score now, and reopens none for a task sent before', async () => {
    const { engine, group, key } = await timedOut();
    const { header } = group;
    const benchmark = await withCurrentGrading(header, group.benchmark, engine.blobs);
    await rerunCells(header, header.runs, benchmark.configs, engine);
    const before = engine.ledger.cell(key);
    await rescoreTimedOut(engine, group);
    const current = await withCurrentGrading(header, group.benchmark, engine.blobs);

    const sentCount = await rerunCells(header, header.runs, current.configs, engine);
    const [delivery] = await engine.queue.receive('lab', 1);
    if (delivery === undefined) throw new Error('expected the task of the earlier rerun');
    const settlement = await executeCell(delivery, { ...engine.worker, benchmark: current });

    expect(sentCount).toBe(0);
    expect(settlement).toEqual({ kind: 'acknowledge' });
    expect(engine.ledger.cell(key)).toEqual(before);
  });

  it('repairs the tallies when its work is published', async () => {
    const { engine, group, key } = await timedOut();
    const { header } = group;
    await rescoreTimedOut(engine, group);
    // As a worker of a stage does, which does not know the current grading.
    await engine.ledger.claimCell(key, 1, 'ann');
    await engine.ledger.completeCell(key, 'ann', aCellResult(), []);

    await finalizeGroup(group, engine, { earlyEnd: undefined });

    const tallies = await engine.ledger.readTallies(header.runs[0] ?? '');
    expect(tallies.map(({ counts }) => counts)).toEqual([
      { scored: 1, unparsed: 0, ungraded: 0, failed: 0 },
    ]);
  });

  it('leaves a tally alone that changes while its work is published', async () => {
    const { engine, group, key } = await timedOut();
    await rescoreTimedOut(engine, group);
    const other = { ...key, id: 'other' };
    const blobs = onWrite(engine.blobs, 'summary.md', async () => {
      await engine.ledger.claimCell(other, 0, 'ann');
      await engine.ledger.completeCell(other, 'ann', aCellResult(), []);
    });
    await engine.ledger.claimCell(key, 1, 'ann');
    await engine.ledger.completeCell(key, 'ann', aCellResult(), []);

    await finalizeGroup(group, { ...engine, ledger: engine.ledger, blobs });

    const tallies = await engine.ledger.readTallies(key.run);
    expect(tallies.map(({ counts }) => counts.scored)).toEqual([3]);
  });
});

/** A group of one cell, ungraded because the pattern of its scorer took too long. */
async function timedOut() {
  const scorer: ScorerSpec = { kind: 'regex', pattern: 'endless' };
  const benchmark = aBenchmark({ configs: [aConfig({ name: 'a', scorer })] });
  const userCode: UserCode & GroupCode = {
    ...inProcessPatterns,
    match: async (pattern, text, limitMs) =>
      pattern.source === 'endless'
        ? { kind: 'timeout' }
        : await inProcessPatterns.match(pattern, text, limitMs),
  };
  const engine = new FakeEngine({ benchmark, userCode });
  const header = await engine.plan([aQuestion()]);
  await engine.workAll();
  const group: LoadedGroup = {
    ...loadGroup({ header, state: 'active', isPlanned: true }),
    benchmark,
  };
  await finalizeGroup(group, engine);
  const key = { run: header.runs[0] ?? '', config: 'a', id: 'q1' };
  return { engine, group, key };
}

async function rescoreTimedOut(engine: FakeEngine, group: LoadedGroup): Promise<void> {
  await addGrading(group, edited({ a: { kind: 'exact' } }), engine);
  await finalizeGroup(group, engine);
}

/** Does something before a file is written. */
function onWrite(blobs: BlobStore, name: string, act: () => Promise<void>): BlobStore {
  const write: BlobStore['write'] = async (key, pieces) => {
    if (key.endsWith(name)) await act();
    await blobs.write(key, pieces);
  };
  return new Proxy(blobs, {
    get: (target, property) => {
      const value: unknown = property === 'write' ? write : Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The scorers of an edited spec; configs that are not named keep theirs. */
function edited(scorers: Readonly<Record<string, ScorerSpec>>): SpecScorers {
  return { specSha256: 'e'.repeat(64), scorers: new Map(Object.entries(scorers)) };
}

/** A published group of two configs whose answers `exact` finds wrong; one cell of each failed. */
async function finished(): Promise<{ readonly engine: FakeEngine; readonly group: LoadedGroup }> {
  const configs = [aConfig({ name: 'a' }), aConfig({ name: 'b' })];
  const benchmark = aBenchmark({ configs });
  const engine = new FakeEngine({
    benchmark,
    userCode: inProcessPatterns,
    answer: ({ cell }) => {
      if (cell.id === 'broken') return anError('invalid-request');
      return aModelResponse({ output: anOutput({ text: 'It is 42' }) });
    },
  });
  const header = await engine.plan(questions);
  await engine.workAll();
  const group: LoadedGroup = {
    ...loadGroup({ header, state: 'active', isPlanned: true }),
    benchmark,
  };
  await finalizeGroup(group, engine);
  return { engine, group };
}

async function rescored(change: SpecScorers) {
  const { engine, group } = await finished();
  await addGrading(group, change, engine);
  await finalizeGroup(group, engine);
  return { engine, group };
}

async function readSummary(engine: FakeEngine, folder: string): Promise<Summary> {
  const text = await engine.blobs.readText(`runs/${folder}/summary.json`);
  return JSON.parse(text ?? 'null') as Summary;
}

function correctOf({ configs }: Summary): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(
    configs.map(({ config, replicates }) => [config, replicates[0]?.correct]),
  );
}
