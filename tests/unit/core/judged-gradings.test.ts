import {
  addGrading,
  type CellRow,
  finalizeGroup,
  type LoadedGroup,
  loadGroup,
  type RowStores,
  rerunCells,
  rescoreGroup,
  type ScorerSpec,
  type SpecScorers,
  verifyGroup,
  withCurrentGrading,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { judgesOf } from '../../../packages/core/src/domain/config-models.ts';
import { readRows } from '../../../packages/core/src/results/read-rows.ts';
import { scorerRegistry } from '../../../packages/core/src/scorers/registry.ts';
import { aBenchmark, aGroupHeader, aQuestion } from '../../support/builders.ts';
import { crashingStores } from '../../support/crashing-stores.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { aVerdict, isToJudge, judgeScorer, says } from '../../support/judged-benchmark.ts';

const questions = ['q1', 'q2', 'q3'].map((id) => aQuestion({ id, tags: { number: id } }));
const origin = { commandLine: ['judge', 'demo'], toolVersion: '0.1.0' };
const exact: ScorerSpec = { kind: 'exact' };
/** Every answer is right, and every judge finds it wrong. */
const answer: FakeAnswer = (request) => ({
  ...says(isToJudge(request) ? aVerdict(false) : '42'),
  servedModel: request.model,
});

function scoredBy(scorer: ScorerSpec): SpecScorers {
  return { specSha256: 'd'.repeat(64), scorers: new Map([['direct', scorer]]) };
}

/** A finished group that `exact` has graded, with a lane for judges. */
class FinishedGroup {
  engine = new FakeEngine({ benchmark: aBenchmark(), answer });
  group!: LoadedGroup;

  static async open(): Promise<FinishedGroup> {
    const finished = new FinishedGroup();
    const { engine } = finished;
    const { spec } = aGroupHeader();
    const base_url = 'http://127.0.0.1:1800/v1';
    const lanes = { lab: { base_url }, court: { base_url } };
    const header = await engine.plan(questions, { draft: { spec: { ...spec, lanes } } });
    await engine.workAll();
    finished.group = loadGroup({ header, state: 'active', isPlanned: true });
    await finalizeGroup(finished.group, engine);
    return finished;
  }

  /** Has the answers graded by a scorer; its judges are not asked. */
  async rescore(scorer: ScorerSpec): Promise<void> {
    const { header } = await rescoreGroup(this.group, scoredBy(scorer), origin, this.engine);
    this.group = loadGroup({ ...this.group, header });
    await finalizeGroup(this.group, this.engine);
  }

  /** Has the judges of the current grading asked. Returns how many verdicts were bought. */
  async judge(): Promise<number> {
    const { header, benchmark } = this.group;
    const current = await withCurrentGrading(header, benchmark, this.engine.blobs);
    const working = new FakeEngine({ benchmark: current, stores: this.engine, answer });
    const judges = current.configs.flatMap(({ gradedBy }) => gradedBy ?? []);
    await rerunCells(header, header.runs, judges, working);
    await working.workAll();
    await finalizeGroup(this.group, this.engine);
    return working.models.requests.length;
  }

  async rows(stores: RowStores = this.engine): Promise<readonly CellRow[]> {
    const { header, benchmark } = this.group;
    const { configs } = await withCurrentGrading(header, benchmark, this.engine.blobs);
    const rows: CellRow[] = [];
    for (const run of header.runs)
      for (const config of configs)
        for await (const row of readRows(header, run, config, stores)) rows.push(row);
    return rows;
  }

  async scores(): Promise<readonly (number | null)[]> {
    return (await this.rows()).map(({ score }) => score);
  }

  /** How many answers wait for a judge, as published. */
  async toGrade(): Promise<number> {
    await finalizeGroup(this.group, this.engine);
    const { runs } = this.group.header;
    const tallies = await Promise.all(runs.map((run) => this.engine.ledger.readTallies(run)));
    return tallies.flat().reduce((sum, { toGrade }) => sum + toGrade, 0);
  }

  async mismatches(): Promise<readonly string[]> {
    const { header, benchmark } = this.group;
    return (await verifyGroup(header, benchmark, this.engine)).mismatches;
  }
}

describe('a grading with a judge', () => {
  it('adds the judge to the plan, and asks nobody', async () => {
    const finished = await FinishedGroup.open();

    await finished.rescore(judgeScorer);

    const { header } = finished.group;
    expect(judgesOf(header)).toEqual([{ config: 'direct', grading: 2, scorer: judgeScorer }]);
    expect(header.edits.map(({ commandLine, changes }) => ({ commandLine, changes }))).toEqual([
      {
        commandLine: origin.commandLine,
        changes: [{ key: 'configs.direct.scorer', was: 'exact', is: 'court/judge' }],
      },
    ]);
    expect((await finished.engine.ledger.readGroup(header.group))?.isPlanned).toBe(true);
    expect((await finished.rows()).map(({ reason }) => reason)).toEqual(
      questions.map(() => 'awaiting-judge'),
    );
    expect(await finished.mismatches()).toEqual([]);
  });

  it('is followed by others and back for nothing, and verifies at each step', async () => {
    const finished = await FinishedGroup.open();
    const bought: number[] = [];
    const seen: unknown[] = [];
    const look = async () => seen.push([await finished.scores(), await finished.mismatches()]);

    await finished.rescore(judgeScorer);
    bought.push(await finished.judge());
    await look();
    await finished.rescore(exact);
    bought.push(await finished.judge());
    await look();
    await finished.rescore(judgeScorer);
    bought.push(await finished.judge());
    await look();

    expect(bought).toEqual([3, 0, 0]);
    expect(seen).toEqual([
      [[0, 0, 0], []],
      [[1, 1, 1], []],
      [[0, 0, 0], []],
    ]);
  });

  it('asks again for another prompt alone', async () => {
    const finished = await FinishedGroup.open();
    await finished.rescore(judgeScorer);
    await finished.judge();

    await finished.rescore({ ...judgeScorer, prompt: 'Is {{answer}} right? {{target}}' });

    expect(await finished.judge()).toBe(3);
    expect(judgesOf(finished.group.header).map(({ grading }) => grading)).toEqual([2, 3]);
    expect((await finished.rows()).map(({ calls }) => calls.map(({ grading }) => grading))).toEqual(
      questions.map(() => [undefined, 2, 3]),
    );
    expect(await finished.mismatches()).toEqual([]);
  });

  it('reads the recorded verdicts again where another release reads them otherwise', async () => {
    const finished = await FinishedGroup.open();
    await finished.rescore(judgeScorer);
    await finished.judge();
    const judge = scorerRegistry.get('judge');
    if (judge?.reads !== 'verdicts') throw new Error('expected the scorer');
    // A later version that reads every verdict as its opposite.
    const next: typeof judge.next = (judged) => {
      const move = judge.next(judged);
      if (move.kind === 'ask') return move;
      return { ...move, grade: { ...move.grade, score: 1 - (move.grade.score ?? 0) } };
    };
    const scorers = new Map([...scorerRegistry, ['judge', { ...judge, version: 99, next }]]);
    const { ledger, blobs, clock, userCode } = finished.engine;
    const later = { ledger, blobs, clock, userCode, scorers };

    await addGrading(finished.group, undefined, later);

    expect((await finished.rows(later)).map(({ score, grading }) => [score, grading])).toEqual(
      questions.map(() => [1, { number: 3, scorer: 'judge', version: 99, judges: 2 }]),
    );
    expect(await finished.judge()).toBe(0);
  });

  it('grades nothing while its judges are not believed, until they are, or others grade', async () => {
    const finished = await FinishedGroup.open();
    const rejected = { accuracy: 0.4, floor: 0.9, answers: 5, goldSha256: 'e'.repeat(64) };
    const decide = async (decided: typeof rejected | null) => {
      const none = { specSha256: 'd'.repeat(64), scorers: new Map(), rejected: decided };
      await addGrading(finished.group, none, finished.engine);
      await finalizeGroup(finished.group, finished.engine);
    };
    const seen: unknown[] = [];
    const look = async () => {
      const rows = await finished.rows();
      seen.push([
        rows.map(({ outcome, score, reason }) => [outcome, score, reason]),
        rows.map(({ calls }) => calls.length),
        await finished.mismatches(),
      ]);
    };
    await finished.rescore(judgeScorer);
    await finished.judge();

    await decide(rejected);
    await look();
    // As an upgrade of a scorer would: the same judges.
    await finished.rescore(judgeScorer);
    await look();
    await decide(null);
    await look();
    await decide(rejected);
    await finished.rescore({ ...judgeScorer, prompt: 'Is {{answer}} right? {{target}}' });
    await finished.judge();
    await look();

    const withheld = ['ungraded', null, 'judge-below-floor'];
    const wrong = ['scored', 0, null];
    expect(seen).toEqual([
      [questions.map(() => withheld), [2, 2, 2], []],
      [questions.map(() => withheld), [2, 2, 2], []],
      [questions.map(() => wrong), [2, 2, 2], []],
      [questions.map(() => wrong), [3, 3, 3], []],
    ]);
  });

  it('withholds what judges have said alone: not who waits for them, nor what another scorer gives', async () => {
    const finished = await FinishedGroup.open();
    const rejected = { accuracy: 0.4, floor: 0.9, answers: 5, goldSha256: 'e'.repeat(64) };
    const mixed = { kind: 'by', by: 'number', scorers: { q1: exact }, otherwise: judgeScorer };
    await finished.rescore(mixed);
    const none = { specSha256: 'd'.repeat(64), scorers: new Map(), rejected };
    await addGrading(finished.group, none, finished.engine);
    const look = async () => [
      (await finished.rows()).map(({ outcome, reason }) => reason ?? outcome),
      await finished.toGrade(),
      await finished.mismatches(),
    ];

    const before = await look();
    await finished.judge();
    const after = await look();

    expect(before).toEqual([['scored', 'awaiting-judge', 'awaiting-judge'], 2, []]);
    expect(after).toEqual([['scored', 'judge-below-floor', 'judge-below-floor'], 0, []]);
  });

  it('is added whole by a repeat, wherever a crash comes', async () => {
    for (let afterWrites = 0; afterWrites < 30; afterWrites += 1) {
      const finished = await FinishedGroup.open();
      const { engine, group } = finished;
      const { clock, userCode } = engine;
      const crash = { afterWrites, isLastWriteStored: afterWrites % 2 === 0 };
      const dying = { ...crashingStores(engine, crash), clock, userCode };
      const isOver = await rescoreGroup(group, scoredBy(judgeScorer), origin, dying).then(
        () => true,
        () => false,
      );

      const record = await engine.ledger.readGroup(group.header.group);
      finished.group = loadGroup({ ...group, ...record });
      await finished.rescore(judgeScorer);

      expect(judgesOf(finished.group.header)).toHaveLength(1);
      expect(finished.group.header.edits).toHaveLength(1);
      expect(await finished.judge()).toBe(3);
      expect(await finished.mismatches()).toEqual([]);
      if (isOver) return;
    }
    throw new Error('expected a rescore with fewer writes');
  });
});
