import { fileURLToPath } from 'node:url';
import {
  type Config,
  checkQuestions,
  openQuestions,
  parseSpec,
  type Question,
  renderPrompt,
  resolveBenchmark,
} from '@thrice/core';
import { createNodeDigest, fileSourceReader } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { aRecordedAnswer } from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

// What is real in these files, and under which license: fixtures/datasets/README.md.
const fixtures = fileURLToPath(new URL('../../fixtures/datasets/', import.meta.url));

/** The part to read, where it is not the default. */
interface Part {
  readonly subset?: string;
  readonly split?: string;
}

interface Case {
  readonly dataset: string;
  readonly folders: readonly string[];
  readonly part?: Part;
  readonly questions: readonly Partial<Question>[];
  /** An answer to the first question that is right, in words that its prompt asks for; and a wrong one. */
  readonly right: string;
  readonly wrong: string;
}

const cases: readonly Case[] = [
  {
    dataset: 'gsm8k',
    folders: [
      'gsm8k/published',
      'gsm8k/export',
      'gsm8k/published/grade_school_math/data/test.jsonl',
    ],
    questions: [
      {
        id: 'gsm8k/test/0',
        question: expect.stringMatching(/^Janet’s ducks lay 16 eggs per day\./) as string,
        target: ['18'],
        choices: null,
        metadata: { solution: expect.stringContaining('<<16-3-4=9>>9 duck eggs') as string },
      },
      { id: 'gsm8k/test/1', target: ['3'] },
      { id: 'gsm8k/test/2', target: ['70000'] },
    ],
    right: '16 - 3 - 4 = 9\nAnswer: $18',
    wrong: 'Answer: 9',
  },
  {
    dataset: 'mmlu',
    folders: ['mmlu/published', 'mmlu/export'],
    part: { split: 'dev' },
    questions: [
      {
        id: 'mmlu/dev/0',
        question: expect.stringMatching(/^A 6-sided die is rolled 15 times/) as string,
        choices: ['2/15', '1/7', '3/16', '1/5'],
        target: ['B'],
        tags: { subject: 'machine_learning' },
      },
      { id: 'mmlu/dev/1', target: ['A'] },
      { id: 'mmlu/dev/2', target: ['C'] },
    ],
    right: 'By Laplace.\nAnswer: B',
    wrong: 'Answer: A',
  },
  {
    dataset: 'mmlu-pro',
    folders: ['mmlu-pro/export', 'mmlu-pro/lines'],
    questions: [
      {
        id: 'mmlu-pro/70',
        question: expect.stringMatching(/^Typical advertising regulatory bodies/) as string,
        choices: expect.arrayContaining(['Unsafe practices, Distress, Fear, Serious']) as string[],
        target: ['I'],
        tags: { category: 'business' },
        metadata: { src: 'ori_mmlu-business_ethics' },
      },
      { id: 'mmlu-pro/71', target: ['F'] },
    ],
    right: 'The answer is (I).',
    wrong: 'the answer is (J)',
  },
  {
    dataset: 'gpqa',
    folders: ['gpqa/export'],
    questions: [
      {
        id: 'gpqa/recGenerated0001',
        question: 'Which of these generated particles\nis the heaviest?',
        choices: expect.arrayContaining([
          'particle one',
          'particle two',
          'particle three, the light one',
          'particle "four"',
        ]) as string[],
        tags: { domain: 'Physics', subdomain: 'Made-up Physics' },
        metadata: { canary: 'generated canary' },
      },
      {
        id: 'gpqa/recGenerated0002',
        tags: { domain: 'Chemistry', subdomain: 'Made-up Chemistry' },
      },
    ],
    right: 'The correct answer is particle one',
    wrong: 'The correct answer is particle two',
  },
  {
    dataset: 'hle',
    folders: ['hle/export'],
    questions: [
      {
        id: 'hle/generated-0001',
        target: ['red'],
        attachments: [expect.stringMatching(/^data:image\/png;base64,/) as string],
        tags: { answer_type: 'exactMatch', category: 'Physics', raw_subject: 'Optics' },
        metadata: { canary: 'generated canary' },
      },
      { id: 'hle/generated-0002', target: ['B'] },
    ],
    right: 'Explanation: It shows one color.\nAnswer: red\nConfidence: 99%',
    wrong: 'Explanation: red\nAnswer: blue\nConfidence: 99%',
  },
  {
    dataset: 'arc',
    folders: ['arc/published', 'arc/export'],
    questions: [
      {
        id: 'arc/Mercury_7175875',
        question: expect.stringMatching(/^An astronomer observes/) as string,
        choices: expect.arrayContaining(['Planetary days will become shorter.']) as string[],
        target: ['C'],
      },
      {
        id: 'arc/generated_numbers',
        choices: ['this one', 'not this one', 'nor this one'],
        target: ['A'],
      },
    ],
    right: 'Answer: C',
    wrong: 'Answer: D',
  },
  {
    dataset: 'hellaswag',
    folders: ['hellaswag/published', 'hellaswag/export'],
    questions: [
      {
        id: 'hellaswag/validation/0',
        question: 'Roof shingle removal: A man is sitting on a roof. He',
        choices: [
          'is using wrap to wrap a pair of skis.',
          'is ripping level tiles off.',
          "is holding a rubik's cube.",
          'starts pulling up roofing on a roof.',
        ],
        target: ['D'],
        tags: { activity_label: 'Roof shingle removal' },
      },
    ],
    right: 'Answer: D',
    wrong: 'Answer: B',
  },
  {
    dataset: 'truthfulqa',
    folders: ['truthfulqa/published', 'truthfulqa/export'],
    questions: [
      {
        id: 'truthfulqa/0',
        choices: expect.arrayContaining([
          'The true one',
          'The first false one',
          'The second false one',
        ]) as string[],
      },
    ],
    right: 'Answer: The true one',
    wrong: 'Answer: The first false one',
  },
  {
    dataset: 'winogrande',
    folders: ['winogrande/published', 'winogrande/export'],
    questions: [
      {
        id: 'winogrande/validation/0',
        question: 'Sarah was a much better surgeon than Maria so _ always got the easier cases.',
        choices: ['Sarah', 'Maria'],
        target: ['B'],
      },
      { id: 'winogrande/validation/1', target: ['A'] },
    ],
    right: 'Answer: B',
    wrong: 'Answer: A',
  },
  {
    dataset: 'commonsenseqa',
    folders: ['commonsenseqa/published', 'commonsenseqa/export'],
    questions: [
      {
        id: 'commonsenseqa/1afa02df02c908a558b4036e80242fac',
        question: expect.stringMatching(/^A revolving door/) as string,
        choices: ['bank', 'library', 'department store', 'mall', 'new york'],
        target: ['A'],
      },
    ],
    right: 'Answer: A',
    wrong: 'Answer: E',
  },
  {
    dataset: 'mgsm',
    folders: ['mgsm/published', 'mgsm/export'],
    questions: [
      {
        id: 'mgsm/en/0',
        question: expect.stringMatching(/^Janet’s ducks/) as string,
        target: ['18'],
        tags: { language: 'en' },
      },
      { id: 'mgsm/en/1', target: ['3'] },
    ],
    right: 'Answer: 18',
    wrong: 'Answer: 17',
  },
  {
    dataset: 'aime',
    folders: ['aime/export', 'aime/lines'],
    questions: [{ id: 'aime/0', target: ['024'] }],
    right: 'Hence $\\boxed{24}$.',
    wrong: '\\boxed{1024}',
  },
];

const layouts = cases.flatMap((known) => known.folders.map((folder) => ({ ...known, folder })));

describe('a published dataset', () => {
  it.each(layouts)(
    '$dataset is read from $folder',
    async ({ dataset, folder, part, questions }) => {
      const source = open(dataset, folder, part);

      const read = await collect(source.read());

      expect(read).toMatchObject(questions);
      expect(read).toHaveLength(questions.length);
      expect(await source.files()).toHaveLength(1);
    },
  );

  it.each(cases)('$dataset has the same questions in each layout', async (known) => {
    const { dataset, folders, part } = known;

    const [first, ...others] = await Promise.all(
      folders.map(async (folder) =>
        (await collect(open(dataset, folder, part).read())).map(
          ({ tags: _tags, metadata: _metadata, ...question }) => question,
        ),
      ),
    );

    for (const other of others) expect(other).toEqual(first);
  });

  it.each(cases)('$dataset is asked and graded without another word', async (known) => {
    const { dataset, folders, part, right, wrong } = known;
    const source = open(dataset, folders[0] ?? '', part);
    const benchmark = resolveBenchmark(specOf(dataset), 'x.toml');
    const [config] = benchmark.configs;
    const [question] = await collect(source.read());
    if (config === undefined || question === undefined) throw new Error('expected both');

    // Each target is one that the scorer can match, each prompt can be rendered.
    await checkQuestions(source, undefined, benchmark.configs, createNodeDigest);
    const messages = renderPrompt(config, question);

    expect(JSON.stringify(messages)).toContain(JSON.stringify(question.question).slice(1, -1));
    for (const choice of question.choices ?? []) {
      expect(JSON.stringify(messages)).toContain(JSON.stringify(choice).slice(1, -1));
    }
    expect(await scoreOf(right, question, config)).toBe(1);
    expect(await scoreOf(wrong, question, config)).toBe(0);
  });
});

describe("Humanity's Last Exam", () => {
  it.each([
    ['Answer: B', 'B'],
    ['**Answer:** B', 'B'],
    ['Answer: B. The second', 'B'],
    ['Answer: (B) The second', 'B'],
    ['Explanation: No.\nAnswer: A\nNo:\nAnswer: B\nConfidence: 5%', 'B'],
    ['Exact Answer: 3.5 km', '3.5 km'],
    ['Answer: A.B.', 'A.B.'],
    ['The answer: B', null],
  ])('reads %j as %j', async (output, answer) => {
    const [config] = resolveBenchmark(specOf('hle'), 'x.toml').configs;
    const [, question] = await collect(open('hle', 'hle/export').read());
    if (config === undefined || question === undefined) throw new Error('expected both');

    const grade = await gradeAnswer(config.scorer, question, aRecordedAnswer({ output }), {
      userCode: inProcessPatterns,
    });

    expect(grade.outcome === 'unparsed' ? null : grade.answer).toBe(answer);
  });
});

describe('a dataset', () => {
  it('names what it looked for and what there was', async () => {
    await expect(collect(open('gsm8k', 'mmlu').read())).rejects.toMatchObject({
      code: 'unknown-dataset',
      message: expect.stringMatching(
        /\/mmlu: expected the dataset "gsm8k", as main\/test-\* or .* \(\.jsonl, .*\), received export\/all\/dev-00000/,
      ) as string,
    });
  });

  it.each([
    ['folders', ['first/test.jsonl', 'second/test.jsonl']],
    ['formats', ['main/test.jsonl', 'main/test.jsonl.gz']],
  ])('is not read from several %s at once', async (_, names) => {
    await using folder = await temporaryFolder(
      Object.fromEntries(names.map((name) => [name, '{"question":"a","answer":"#### 1"}\n'])),
    );
    const questions = { dataset: 'gsm8k', path: folder.path };

    await expect(openQuestions(questions, String, fileSourceReader).files()).rejects.toMatchObject({
      code: 'unknown-dataset',
      message: expect.stringMatching(
        /expected the dataset "gsm8k" once, received .*test\.jsonl, .*; name one/,
      ) as string,
    });
  });

  it('is not read from another subset than the one that is named', async () => {
    const socratic = open('gsm8k', 'gsm8k/published', { subset: 'socratic' });
    const main = open('gsm8k', 'gsm8k/published', { subset: 'main' });

    await expect(socratic.files()).rejects.toMatchObject({ code: 'unknown-dataset' });
    expect(await main.files()).toHaveLength(1);
  });

  it('names the row and the column of a problem', async () => {
    await using folder = await temporaryFolder({
      'test.jsonl': '{"question":"a","answer":"#### 1"}\n{"question":"b"}\n',
    });
    const source = openQuestions({ dataset: 'gsm8k', path: folder.path }, String, fileSourceReader);

    await expect(collect(source.read())).rejects.toThrow(
      'test.jsonl:2: answer: expected a text, received nothing',
    );
  });

  it('leaves a config its own prompt and scorer', () => {
    const questions = { dataset: 'hle', path: 'x' };
    const own = { name: 'a', model: 'sim/x', prompt: 'So: {{question}}', scorer: 'exact' };
    const named = { name: 'b', model: 'sim/x', system: 'Be brief.' };

    const spec = parseSpec({ questions, configs: [own, named] }, 'x.toml');

    expect(spec.configs[0]).toMatchObject(own);
    expect(spec.configs[0]).not.toHaveProperty('system');
    expect(spec.configs[1]).toMatchObject({ ...named, scorer: 'hle' });
    expect(spec.configs[1]).not.toHaveProperty('prompt');
  });
});

function specOf(dataset: string) {
  const questions = { dataset, path: 'x' };
  return parseSpec({ questions, configs: [{ name: 'a', model: 'sim/x' }] }, 'x.toml');
}

function open(dataset: string, folder: string, part: Part = {}) {
  return openQuestions(
    { dataset, path: folder, ...part },
    (path) => fixtures + path,
    fileSourceReader,
  );
}

async function scoreOf(text: string, question: Question, { scorer }: Config) {
  const answer = aRecordedAnswer({ output: text });
  const { score } = await gradeAnswer(scorer, question, answer, { userCode: inProcessPatterns });
  return score;
}
