import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Question, ScorerSpec } from '@thrice/core';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { aQuestion } from '../../support/builders.ts';
import { moveAfter, promptOf } from '../../support/judge-moves.ts';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';

const hle: ScorerSpec = { kind: 'judge', model: 'court/judge' };
const toolOrchestra: ScorerSpec = { ...hle, form: 'toolorchestra' };
const question = aQuestion({ question: 'What is 6 x 7?', target: ['42'] });

function gradeOf(scorer: ScorerSpec, output: string, replies: readonly string[]) {
  const move = moveAfter({ scorer, question, output, judgeCount: replies.length }, replies);
  return move.kind === 'grade' ? move.grade : undefined;
}

describe('the form of HLE', () => {
  it.each([
    ['extracted_answer: -5\ncorrect: yes', '-5'],
    ['**extracted_answer:** `x = 1`\n**correct:** Yes.', 'x = 1'],
    ['extracted_answer: None\ncorrect: yes', null],
  ])('reads the answer in %j', (reply, answer) => {
    expect(gradeOf(hle, 'so it is', [reply])).toMatchObject({ score: 1, answer });
  });

  it.each(['correct: yes\ncorrect: no', 'correct: maybe', 'It is correct.', ''])(
    'takes %j for no verdict',
    (reply) => {
      expect(gradeOf(hle, 'so it is', [reply])).toMatchObject({ reason: 'unreadable-verdict' });
    },
  );

  it('reads a hostile reply in time', () => {
    const reply = `correct:${' '.repeat(500_000)}x${'* '.repeat(500_000)}\n`.concat(
      'a:\n'.repeat(200_000),
    );

    expect(gradeOf(hle, 'so it is', [reply])).toMatchObject({ reason: 'unreadable-verdict' });
  });
});

describe('the form of ToolOrchestra', () => {
  it.each([
    ['empty', '<answer> </answer>', { outcome: 'unparsed', score: 0, reason: 'empty' }],
    ['of over 500 pieces', 'w '.repeat(500).concat('w'), { outcome: 'scored', score: 0 }],
    [
      'equal but for case and blanks',
      '<answer>\n FORTY two </answer>',
      { outcome: 'scored', score: 1 },
    ],
  ])('asks no judge about an answer that is %s', (_, output, grade) => {
    const asked = { ...question, target: ['x', ' forty Two'] };

    const move = moveAfter({ scorer: toolOrchestra, question: asked, output });

    expect(move).toMatchObject({ kind: 'grade', grade });
    const { score } = grade;
    const metrics = { parityCorrect: score, tolerantCorrect: score, parseDiffers: 0 };
    expect(move).toMatchObject({ grade: { metrics } });
  });

  it('asks about one of 500 pieces, and splits on single spaces', () => {
    const five = 'w '.repeat(499).concat('w');

    expect(moveAfter({ scorer: toolOrchestra, question, output: five }).kind).toBe('ask');
    expect(
      moveAfter({ scorer: toolOrchestra, question, output: five.replace(' ', '  ') }),
    ).toMatchObject({
      kind: 'grade',
    });
    expect(
      moveAfter({
        scorer: toolOrchestra,
        question,
        output: five.replaceAll(' ', '\n ').replaceAll(' ', ''),
      }).kind,
    ).toBe('ask');
  });

  // Reply, as its authors read it, as it is meant.
  it.each([
    ['<correct>True</correct>', 1, 1],
    ['<correct>true</correct>', 1, 1],
    ['<correct>False</correct>', 0, 0],
    ['True', 1, 1],
    ['I think <correct>False</correct>, no: <correct>True</correct>.', 1, 1],
    ['<correct> True </correct>', 0, 1],
    ['<correct>True.</correct>', 0, 1],
    ['<correct>**True**</correct>', 0, 1],
    ['<Correct>True</Correct>', 0, 1],
    ['True\n', 0, 1],
    ['<think>hm</think>True', 0, 1],
    ['false', 0, 0],
  ])(
    'reads %j in parity as %d, tolerantly as %d, and counts the difference',
    (reply, parity, tolerant) => {
      expect(gradeOf(toolOrchestra, 'forty two', [reply])).toEqual({
        outcome: 'scored',
        score: tolerant,
        answer: 'forty two',
        reason: null,
        metrics: {
          parityCorrect: parity,
          tolerantCorrect: tolerant,
          parseDiffers: Number(parity !== tolerant),
        },
      });
    },
  );

  it.each(['', '<correct></correct>', '<correct>yes</correct>', 'True or False'])(
    'takes %j for no verdict',
    (reply) => {
      expect(gradeOf(toolOrchestra, 'forty two', [reply])).toMatchObject({
        outcome: 'ungraded',
        score: null,
        reason: 'unreadable-verdict',
      });
    },
  );

  it('has both readings vote among several judges', () => {
    const replies = [
      '<correct> True</correct>',
      '<correct>True</correct>',
      '<correct>False</correct>',
    ];

    expect(gradeOf(toolOrchestra, 'forty two', replies)).toMatchObject({
      score: 1,
      metrics: { parityCorrect: 0, tolerantCorrect: 1, parseDiffers: 1 },
    });
    expect(gradeOf(toolOrchestra, 'forty two', replies.slice(1))).toMatchObject({
      score: null,
      reason: 'tied-judges',
      metrics: { parityCorrect: null, tolerantCorrect: null, parseDiffers: null },
    });
  });
});

const recordSchema = z.object({
  all_tool_responses: z.record(
    z.string(),
    z.array(
      z.object({
        tool: z.string(),
        problem: z.string(),
        answer: z.string().optional(),
        response: z.string().optional(),
        pred: z.string().optional(),
        correctness: z.boolean().optional(),
        _judge_ms: z.number().optional(),
      }),
    ),
  ),
});
type Answer = z.infer<typeof recordSchema>['all_tool_responses'][string][number];
const scenariosSchema = z.object({
  scenarios: z.record(z.string(), z.object({ judge: z.string().optional() })),
});
const requestSchema = z.object({
  role: z.string(),
  body: z.object({ messages: z.array(z.object({ content: z.string() })).optional() }),
});

describe.runIf(hasSharedData)("ToolOrchestra's golden outputs", () => {
  const folder = join(sharedDataDir, 'toolorchestra/golden');
  let answers: readonly Answer[] = [];
  let scenarios: Readonly<Record<string, { readonly judge?: string | undefined }>> = {};

  beforeAll(() => {
    const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8'));
    answers = ['out_hle', 'out_frames'].flatMap((out) =>
      readdirSync(join(folder, out)).flatMap((file) => {
        const record = recordSchema.parse(read(join(out, file)));
        return Object.values(record.all_tool_responses)
          .flat()
          .filter(({ tool }) => tool === 'answer');
      }),
    );
    ({ scenarios } = scenariosSchema.parse(read('scenarios.json')));
  });

  /** What the judge of the capture says about a question. */
  const replyTo = (problem: string) => scenarios[/\[\[(\w+)\]\]/.exec(problem)?.[1] ?? '']?.judge;

  it('have the same answers, judge calls and verdicts here, and no reading that differs', () => {
    const metrics = answers.map(({ problem, answer = '', response = '', pred, ...golden }) => {
      const asked: Question = aQuestion({ question: problem, target: [answer] });
      const judging = { scorer: toolOrchestra, question: asked, output: response };
      const isAsked = moveAfter(judging).kind === 'ask';
      const move = moveAfter(judging, isAsked ? [replyTo(problem) ?? ''] : []);

      expect(isAsked).toBe(golden._judge_ms !== undefined);
      expect(move).toMatchObject({
        grade: { score: Number(golden.correctness), answer: pred === '' ? null : pred },
      });
      return move.kind === 'grade' ? move.grade.metrics : undefined;
    });

    expect(answers.map(({ correctness }) => Number(correctness))).toEqual([1, 1, 0, 0, 1, 1, 0, 0]);
    expect(metrics.map((each) => each?.['parityCorrect'])).toEqual([1, 1, 0, 0, 1, 1, 0, 0]);
    expect(metrics.map((each) => each?.['parseDiffers'])).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('differ between the readings where the judge puts blanks or marks around its word', () => {
    const differing = ['True', ' True', '**True**', 'False', ' false ', 'True.'].map((word) => {
      const metrics = answers.map(({ problem, answer = '', response = '' }) => {
        const asked = aQuestion({ question: problem, target: [answer] });
        const judging = { scorer: toolOrchestra, question: asked, output: response };
        const replies = moveAfter(judging).kind === 'ask' ? [`<correct>${word}</correct>`] : [];
        const move = moveAfter(judging, replies);
        return move.kind === 'grade' ? (move.grade.metrics?.['parseDiffers'] ?? 0) : 0;
      });
      return metrics.reduce((sum, each) => sum + each, 0);
    });

    // Two of the eight answers are judged.
    expect(differing).toEqual([0, 2, 2, 0, 0, 2]);
  });

  it.each(['hle', 'frames'])(
    'of %s have the prompt that a table with their wording sends',
    (profile) => {
      const lines = readFileSync(join(folder, `requests_${profile}.jsonl`), 'utf8')
        .trim()
        .split('\n');
      const golden = lines
        .map((line) => requestSchema.parse(JSON.parse(line)))
        .filter(({ role }) => role === 'judge');
      const wording = '(their wording)';
      const start =
        'Question: {{question}}\n\nStudent answer: {{answer}}\n\nReference answer: {{target}}';
      const scorer = { ...toolOrchestra, prompt: `${start}\n\n${wording}` };
      const judged = answers.find(({ _judge_ms: judgeMs }) => judgeMs !== undefined);
      const asked = aQuestion({ question: judged?.problem ?? '', target: [judged?.answer ?? ''] });
      const judging = { scorer, question: asked, output: judged?.response ?? '' };

      const contents = golden.map(({ body }) => body.messages?.[0]?.content);

      expect(contents).toEqual([promptOf(judging).replace(wording, '{{judge_instruction}}')]);
      const own = promptOf({ ...judging, scorer: toolOrchestra });
      expect(own.startsWith(contents[0]?.replace('{{judge_instruction}}', '') ?? 'none')).toBe(
        true,
      );
    },
  );
});
