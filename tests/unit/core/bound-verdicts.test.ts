import {
  currentGradeConfigOf,
  listRecordedRequests,
  type ModelRequest,
  type RecordedRequest,
  type ScorerSpec,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aQuestion } from '../../support/builders.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { aVerdict, isToJudge, judgeScorer, says } from '../../support/judged-benchmark.ts';
import { aJudgedSpec, JudgedGroup, toJudges } from '../../support/judged-group.ts';

/** Every judge finds every answer right. */
function always(text: string): FakeAnswer {
  return (request) => ({
    ...says(isToJudge(request) ? aVerdict(true) : text),
    servedModel: request.model,
  });
}
const answer = always('42');
/** What a verdict costs. */
const verdictUsd = 0.000012;

describe('a verdict that is taken from another cell', () => {
  it('is one of the grading that takes it, where another group has bought it in a later one', async () => {
    const configs = [{ name: 'a', model: 'lab/m', scorer: 'exact' }];
    const first = await JudgedGroup.plan({ answer, spec: aJudgedSpec({ configs }) });
    await first.work();
    await first.rescore({ a: judgeScorer });
    await first.judge();

    const second = await JudgedGroup.plan({ answer, reuse: first });
    const bought = await second.work();

    expect(bought).toEqual([]);
    const [row] = await second.rows();
    expect(row).toMatchObject({ outcome: 'scored', score: 1, overheadUsd: 0 });
    expect(
      row?.calls.map(({ step, purpose, grading, takenFrom }) => [
        step,
        purpose,
        grading,
        takenFrom?.config,
      ]),
    ).toEqual([
      ['answer', 'answering', undefined, 'a'],
      ['judge-1', 'grading', 1, 'a@2'],
    ]);
    expect((await second.publish()).configs[0]?.judges).toEqual([
      { model: 'court/judge', verdicts: 1, isOwn: null },
    ]);
    expect(await second.mismatches()).toEqual([]);
  });

  it('is one of the grading that takes it, where a config shares the calls of one that was judged before', async () => {
    const spec = aJudgedSpec({
      share_calls: true,
      configs: [
        { name: 'a', model: 'lab/m', scorer: 'quality' },
        { name: 'b', model: 'lab/n', scorer: 'exact' },
      ],
    });
    const group = await JudgedGroup.plan({ answer, spec });
    await group.work();
    await group.rescore({ b: judgeScorer });

    const bought = await group.judge();

    expect(bought).toEqual([]);
    const [, row] = await group.rows();
    expect(row?.calls.map(({ grading }) => grading)).toEqual([undefined, 2]);
    expect(await group.mismatches()).toEqual([]);
  });
});

describe('a target that is corrected', () => {
  const corrected = [aQuestion({ target: ['42'] })];
  /** Finds an answer right that is the target it is told. */
  const compare: FakeAnswer = (request) =>
    isToJudge(request) ? says(aVerdict(targetsIn([request])[0] === '41')) : says('41');
  const plan = async () =>
    await JudgedGroup.plan({ answer: compare, questions: [aQuestion({ target: ['41'] })] });

  it.each(['local', 'stage'] as const)(
    'before its question is answered is what the judge is told, though the task is from before (%s)',
    async (by) => {
      const group = await plan();

      await group.edit(corrected);
      const early = await group.work(by);
      const [unjudged] = await group.rows();
      const judged = await group.resume(by);

      expect(targetsIn(early)).toEqual([]);
      expect(unjudged).toMatchObject({ output: '41', reason: 'awaiting-judge', score: null });
      expect(targetsIn(judged)).toEqual(['42']);
      expect(await group.scores()).toEqual([0]);
      expect(await group.mismatches()).toEqual([]);
    },
  );

  it('before its question is answered is what the judge is told by the task that the edit sends', async () => {
    const group = await plan();

    await group.edit(corrected);
    const asked = await group.resume();

    expect(targetsIn(asked)).toEqual(['42']);
    expect(await group.scores()).toEqual([0]);
  });

  it('leaves the results of questions that are added later in the grading that graded them', async () => {
    const group = await plan();
    await group.work();
    await group.edit(corrected);

    await group.edit([...corrected, aQuestion({ id: 'q2' })]);
    await group.resume();

    const { header } = group.loaded;
    const cells = await group.engine.ledger.readCells(header.runs[0] ?? '', 'a', ['q1', 'q2']);
    expect([...cells.values()].map(({ result }) => result?.grading)).toEqual([1, 2]);
    expect(await group.mismatches()).toEqual([]);
  });

  it('and a rubric that is corrected ask the judge again', async () => {
    const scorers = { quality: { kind: 'rubric', model: 'court/judge' } };
    const group = await JudgedGroup.plan({
      answer: (request) => says(isToJudge(request) ? 'score: 1' : '42'),
      questions: [aQuestion({ rubric: 'Names a source.' })],
      spec: aJudgedSpec({ scorers }),
    });
    await group.work();

    await group.edit([aQuestion({ rubric: 'Is brief.' })]);
    const asked = toJudges(await group.resume());

    expect(asked.map(({ messages }) => JSON.stringify(messages))).toEqual([
      expect.stringContaining('Is brief.'),
    ]);
    expect(group.loaded.header.edits[0]?.changes).toEqual([
      expect.objectContaining({ key: 'questions' }),
      { key: 'question "q1": rubric', was: '17 characters', is: '11 characters' },
    ]);
    expect(await group.mismatches()).toEqual([]);
  });
});

describe('a judge', () => {
  const questions = ['q1', 'q2', 'q3', 'q4'].map((id) => aQuestion({ id }));
  const [first = aQuestion(), ...others] = questions;

  it.each(['local', 'stage'] as const)(
    'is asked again about the answer whose target is corrected, and about no other (%s)',
    async (by) => {
      const group = await JudgedGroup.plan({ answer, questions });
      await group.work(by);

      await group.edit([{ ...first, target: ['forty-two'] }, ...others]);
      const corrected = await group.resume(by);
      await group.edit(questions);
      const back = await group.resume(by);

      expect([targetsIn(corrected), targetsIn(back)]).toEqual([['forty-two'], []]);
      const rows = await group.rows();
      expect(rows.map(({ score, overheadUsd }) => [score, overheadUsd])).toEqual([
        [1, 2 * verdictUsd],
        ...others.map(() => [1, verdictUsd]),
      ]);
      expect(rows[1]?.calls.map(({ grading, takenFrom }) => [grading, takenFrom?.config])).toEqual([
        [undefined, undefined],
        [1, undefined],
        [2, 'a@1'],
        [3, 'a@1'],
      ]);
      expect(await group.mismatches()).toEqual([]);
    },
  );

  it('that is asked three times later is asked twice more', async () => {
    const group = await JudgedGroup.plan({ answer });
    await group.work();
    await group.rescore({ a: { ...judgeScorer, replicates: 3 } });

    const asked = await group.judge();

    expect(asked.map(({ step }) => step)).toEqual(['judge-2', 'judge-3']);
    expect(await group.mismatches()).toEqual([]);
  });

  it.each([
    ['another prompt', { prompt: 'Is {{answer}} right? {{target}}' }],
    ['another model', { model: 'court/other' }],
  ])('is asked again with %s', async (_, change) => {
    const group = await JudgedGroup.plan({ answer });
    await group.work();
    await group.rescore({ a: { ...judgeScorer, ...change } });

    expect(await group.judge()).toHaveLength(1);
  });

  it('is asked again where its lane does not allow the model that gave the verdict any more', async () => {
    const { lanes } = aJudgedSpec();
    const group = await JudgedGroup.plan({
      answer: (request) => ({
        ...says(isToJudge(request) ? aVerdict(true) : '42'),
        servedModel: 'another',
      }),
    });
    await group.work();
    const court = { ...lanes['court'], served_model: 'pin' };
    await group.edit([aQuestion()], aJudgedSpec({ lanes: { ...lanes, court } }));
    await group.rescore({ a: { ...judgeScorer, replicates: 2 } });

    const asked = await group.judge();

    expect(asked.map(({ step }) => step)).toEqual(['judge-1']);
  });
});

describe.each(['local', 'stage'] as const)('a group that was rescored (%s)', (by) => {
  const other: ScorerSpec = { ...judgeScorer, model: 'court/other' };

  it('to another judge and back has its answers judged by the earlier one, also those that it could not read', async () => {
    let isSane = false;
    const group = await JudgedGroup.plan({
      spec: aJudgedSpec({ max_attempts: 1 }),
      answer: (request) =>
        says(isToJudge(request) ? (isSane ? aVerdict(true) : 'Well, well.') : '42'),
    });
    await group.work(by);
    await group.rescore({ a: other });
    await group.rescore({ a: judgeScorer });
    isSane = true;

    const asked = await group.judge(by);

    expect(asked.map(({ model }) => model)).toEqual(['judge']);
    expect(await group.scores()).toEqual([1]);
    expect(currentGradeConfigOf(group.loaded.header, 'a')).toBe('a@1');
    expect(await group.mismatches()).toEqual([]);
  });

  it('to another judge and back has answers that come later judged by the earlier one alone', async () => {
    const group = await JudgedGroup.plan({ answer });
    await group.rescore({ a: other });
    await group.rescore({ a: judgeScorer });

    const asked = await group.work(by);

    expect(toJudges(asked).map(({ model }) => model)).toEqual(['judge']);
    expect(await group.scores()).toEqual([1]);
    expect(await group.mismatches()).toEqual([]);
  });

  it('to a scorer without a judge has answers that come later judged by nobody', async () => {
    const group = await JudgedGroup.plan({ answer });
    await group.rescore({ a: { kind: 'exact' } });

    const asked = await group.work(by);

    const { header } = group.loaded;
    const [tally] = await group.engine.ledger.readTallies(header.runs[0] ?? '');
    expect(toJudges(asked)).toEqual([]);
    expect(tally).toMatchObject({ counts: { scored: 1 }, toGrade: 0 });
    expect(currentGradeConfigOf(header, 'a')).toBeUndefined();
    expect(header.edits.at(-1)?.changes).toEqual([
      { key: 'configs.a.scorer', was: 'court/judge', is: 'exact' },
    ]);
    expect((await group.rows())[0]).toMatchObject({ score: 1, grading: { number: 2 } });
    expect(await group.mismatches()).toEqual([]);
  });
});

describe('a recorded verdict', () => {
  const questions = ['q1', 'q2'].map((id) => aQuestion({ id }));

  it.each([
    ['target', { answer, questions: [aQuestion({ target: ['forty-two'] })] }],
    ['answer', { answer: always('forty-two') }],
  ])('is found by a verification where it was about another %s', async (_, about) => {
    const group = await JudgedGroup.plan({ answer });
    const other = await JudgedGroup.plan(about);
    for (const each of [group, other]) await each.work();
    const { ledger } = group.engine;
    const readJournal = ledger.readJournal.bind(ledger);

    const before = await group.mismatches();
    ledger.readJournal = async (key) =>
      key.config === 'a@1' ? await other.engine.ledger.readJournal(key) : await readJournal(key);
    const after = await group.mismatches();

    expect(before).toEqual([]);
    expect(after).toEqual([
      expect.stringMatching(/q1: judge-1: the judge was asked about another answer or target$/),
    ]);
  });

  it('is no mismatch where its lane has got another protocol since', async () => {
    const group = await JudgedGroup.plan({ answer });
    await group.work();

    const lanes = {
      lab: aJudgedSpec().lanes['lab'],
      court: {
        ...aJudgedSpec().lanes['court'],
        protocol: 'anthropic',
        max_tokens_field: 'max_completion_tokens',
      },
    };
    await group.edit([aQuestion()], aJudgedSpec({ lanes }));

    expect(group.loaded.header.edits).toHaveLength(1);
    expect(await group.mismatches()).toEqual([]);
  });

  it('is listed with the request that it answers, and left out where that was about an earlier target', async () => {
    const group = await JudgedGroup.plan({ answer, questions });
    await group.work();
    await group.edit([aQuestion({ id: 'q1', target: ['forty-two'] }), aQuestion({ id: 'q2' })]);
    await group.resume();

    const { header } = group.loaded;
    const listed: RecordedRequest[] = [];
    for await (const each of listRecordedRequests(group.loaded, header.runs, group.engine))
      listed.push(each);

    const toCourt = listed.filter(({ request }) => isToJudge(request));
    const shown = toCourt.map(({ step: { config, id }, request }) => [
      config,
      id,
      ...targetsIn([request]),
    ]);
    expect(shown).toEqual([
      ['a@1', 'q2', '42'],
      ['a@2', 'q1', 'forty-two'],
      ['a@2', 'q2', '42'],
    ]);
  });
});

/** The targets that judges were told, in the order in which they were asked. */
function targetsIn(requests: readonly ModelRequest[]): readonly string[] {
  return toJudges(requests).map(({ messages }) => {
    const content = String(messages.at(-1)?.content);
    return /reference answer begins ====\n(.*)\n/.exec(content)?.[1] ?? content;
  });
}
