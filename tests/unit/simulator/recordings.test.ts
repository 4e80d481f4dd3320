import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadRecordings, type Simulator, startSimulator } from '@thrice/simulator';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';
import { ask, askForError } from './simulator-client.ts';

describe('recorded answers', () => {
  it('are found by question text and arm between the last markers', async () => {
    await using simulator = await startSimulator({
      recordings: [
        { question: 'Is it?', arm: 'direct', prediction: 'No' },
        { question: 'Is it?', arm: 'cot', prediction: 'Well. So the answer is Yes.' },
      ],
    });
    const prompt = 'Intro.\n\nQ: Is that?\nA: Yes\n\nQ: Is it?\nA:';

    const direct = await ask(simulator, { text: prompt });
    const cot = await ask(simulator, { text: `${prompt} Let's think step by step.` });

    expect(direct).toMatchObject({ text: 'No', finishReason: 'stop' });
    expect(cot).toMatchObject({ text: 'Well. So the answer is Yes.', finishReason: 'stop' });
  });

  it('are found by the whole trimmed text if there are no markers', async () => {
    await using simulator = await startSimulator({
      recordings: [
        { question: '2 + 2?', arm: 'direct', prediction: '4' },
        { question: '2 + 3?', arm: 'cot', prediction: 'the answer is 5' },
      ],
    });

    const direct = await ask(simulator, { text: '\n 2 + 2? ' });
    const cot = await ask(simulator, { text: "2 + 3?\nLet's think step by step." });

    expect(direct.text).toBe('4');
    expect(cot.text).toBe('the answer is 5');
  });

  it('may be empty', async () => {
    await using simulator = await startSimulator({
      recordings: [{ question: 'q', arm: 'direct', prediction: '' }],
    });

    const answer = await ask(simulator, { text: 'q' });

    expect(answer).toMatchObject({ text: '', finishReason: 'stop' });
    expect(answer.usage.completion_tokens).toBe(0);
  });

  it('finish with "length" if a chain of thought states no answer', async () => {
    await using simulator = await startSimulator({
      recordings: [
        { question: 'q', arm: 'cot', prediction: 'First, we' },
        { question: 'q', arm: 'direct', prediction: 'First, we' },
        { question: 'p', arm: 'cot', prediction: 'Done.', finishReason: 'stop' },
      ],
    });

    const cut = await ask(simulator, { text: "\n\nQ: q\nA: Let's think step by step." });
    const direct = await ask(simulator, { text: '\n\nQ: q\nA:' });
    const given = await ask(simulator, { text: "\n\nQ: p\nA: Let's think step by step." });

    expect([cut, direct, given].map((answer) => answer.finishReason)).toEqual([
      'length',
      'stop',
      'stop',
    ]);
  });

  it('return 400 no_recording for an unknown question', async () => {
    await using simulator = await startSimulator({
      recordings: [{ question: 'q', arm: 'direct', prediction: '1' }],
    });

    const error = await askForError(simulator, { text: "\n\nQ: q\nA: Let's think step by step." });

    expect(error).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'no_recording',
      message: 'No recording of this question for the cot arm.',
    });
  });

  it('require a user message', async () => {
    await using simulator = await startSimulator({ recordings: [] });
    const messages = [{ role: 'system', content: 'q' }];

    const error = await askForError(simulator, { text: '', extra: { messages } });

    expect(error).toMatchObject({
      status: 400,
      code: 'no_recording',
      message: 'No user message to find a recording for.',
    });
  });

  it('take precedence over simulated behavior', async () => {
    await using simulator = await startSimulator({
      recordings: [{ question: 'q', arm: 'direct', prediction: 'recorded' }],
      behaviour: { seed: 1, models: { '*': { accuracy: 1 } } },
    });

    const recorded = await ask(simulator, { text: 'q' });
    const simulated = await ask(simulator, { text: 'p' });

    expect([recorded.text, simulated.text]).toEqual(['recorded', 'I do not know.']);
  });
});

describe.runIf(hasSharedData)('BBH recordings', () => {
  const folder = join(sharedDataDir, 'bbh');
  interface QuestionRow {
    readonly subtask: string;
    readonly index: number;
    readonly input: string;
    readonly prompt_input?: string;
  }
  interface PredictionRow {
    readonly subtask: string;
    readonly index: number;
    readonly prediction: string;
  }
  interface Prefixes {
    readonly prefix: Readonly<Record<Arm, Readonly<Record<string, string>>>>;
  }
  type Arm = 'direct' | 'cot';

  let questions: Map<string, QuestionRow>;
  let predictions: Record<Arm, Map<string, string>>;
  let prefixes: Prefixes;
  let recordings: Awaited<ReturnType<typeof loadRecordings>>;

  async function readRows<Row>(name: string): Promise<Row[]> {
    const text = await readFile(join(folder, name), 'utf8');
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
  }

  async function readPredictions(name: string): Promise<Map<string, string>> {
    const rows = await readRows<PredictionRow>(name);
    return new Map(rows.map((row) => [`${row.subtask}/${row.index}`, row.prediction]));
  }

  beforeAll(async () => {
    const rows = await readRows<QuestionRow>('bbh_questions.jsonl');
    questions = new Map(rows.map((row) => [`${row.subtask}/${row.index}`, row]));
    predictions = {
      direct: await readPredictions('codex_direct.jsonl'),
      cot: await readPredictions('codex_cot.jsonl'),
    };
    prefixes = JSON.parse(await readFile(join(folder, 'prefixes.json'), 'utf8')) as Prefixes;
    recordings = await loadRecordings(folder);
  });

  function promptOf(name: string, arm: Arm, text = fullTextOf(name)): string {
    const prefix = prefixes.prefix[arm][name.split('/')[0] ?? ''] ?? '';
    const tail = arm === 'cot' ? " Let's think step by step." : '';
    return `${prefix}\n\nQ: ${text}\nA:${tail}`;
  }

  function fullTextOf(name: string): string {
    const question = questions.get(name);
    return question?.prompt_input ?? question?.input ?? '';
  }

  async function askFor(simulator: Simulator, name: string, arm: Arm, text?: string) {
    return await ask(simulator, { text: promptOf(name, arm, text) });
  }

  /** Requests all predictions of an arm, 64 at a time. */
  async function askForArm(simulator: Simulator, arm: Arm) {
    const names = [...predictions[arm].keys()];
    const wrong: string[] = [];
    let cutCount = 0;
    for (let start = 0; start < names.length; start += 64) {
      const batch = names.slice(start, start + 64);
      const answers = await Promise.all(batch.map((name) => askFor(simulator, name, arm)));
      wrong.push(...batch.filter((name, i) => answers[i]?.text !== predictions[arm].get(name)));
      cutCount += answers.filter((answer) => answer.finishReason === 'length').length;
    }
    return { wrong, cutCount };
  }

  it('answer every recorded prompt with its prediction', async () => {
    await using simulator = await startSimulator({ recordings });

    const direct = await askForArm(simulator, 'direct');
    const cot = await askForArm(simulator, 'cot');

    expect(direct).toEqual({ wrong: [], cutCount: 0 });
    expect(cot).toEqual({ wrong: [], cutCount: 85 });
    expect(simulator.stats().requestCount).toBe(9698);
  }, 60_000);

  it('find snarks/88 by its truncated and by its full text', async () => {
    await using simulator = await startSimulator({ recordings });
    const question = questions.get('snarks/88');

    const full = await askFor(simulator, 'snarks/88', 'direct', question?.prompt_input);
    const cut = await askFor(simulator, 'snarks/88', 'direct', question?.input);

    expect(question?.prompt_input?.length).toBeGreaterThan(question?.input.length ?? 0);
    expect([full.text, cut.text]).toEqual(Array(2).fill(predictions.direct.get('snarks/88')));
  });

  it.each(['dyck_languages/54', 'dyck_languages/189'])(
    'answer %s with an empty text',
    async (name) => {
      await using simulator = await startSimulator({ recordings });

      const answer = await askFor(simulator, name, 'direct');

      expect(answer).toMatchObject({ status: 200, text: '', finishReason: 'stop' });
    },
  );

  it.each([
    ['causal_judgement/32', 'causal_judgement/119'],
    ['causal_judgement/36', 'causal_judgement/104'],
    ['sports_understanding/27', 'sports_understanding/155'],
    ['sports_understanding/80', 'sports_understanding/227'],
  ])('give identical questions %s and %s the same answer', async (first, second) => {
    await using simulator = await startSimulator({ recordings });

    const answers = [
      await askFor(simulator, first, 'direct'),
      await askFor(simulator, second, 'direct'),
    ];

    expect(fullTextOf(first)).toBe(fullTextOf(second));
    expect(answers[0]?.text).toBe(answers[1]?.text);
    expect(answers[0]?.text).toBe(predictions.direct.get(first));
  });

  it('reject a chain of thought for a subtask that has none recorded', async () => {
    await using simulator = await startSimulator({ recordings });

    const error = await askForError(simulator, { text: promptOf('snarks/0', 'cot') });

    expect(error).toMatchObject({ status: 400, code: 'no_recording' });
  });
});
