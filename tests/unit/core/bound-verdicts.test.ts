import { describe, expect, it } from 'vitest';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { aVerdict, isToJudge, judgeScorer, says } from '../../support/judged-benchmark.ts';
import { aJudgedSpec, JudgedGroup } from '../../support/judged-group.ts';

/** Answers 42, which every judge finds right. */
const answer: FakeAnswer = (request) => ({
  ...says(isToJudge(request) ? aVerdict(true) : '42'),
  servedModel: request.model,
});

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
