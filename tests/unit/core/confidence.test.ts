import {
  type Benchmark,
  type CellRow,
  type Config,
  finalizeGroup,
  type ModelRequest,
  parseSpec,
  type Question,
  renderPrompt,
  requestOf,
  resolveBenchmark,
  type ScorerSpec,
  verifyGroup,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../../packages/core/src/calls/fingerprint.ts';
import { readRows } from '../../../packages/core/src/results/read-rows.ts';
import { gradeConfigOf } from '../../../packages/core/src/spec/resolve-judges.ts';
import {
  aBenchmark,
  aCombination,
  aConfig,
  aGroupHeader,
  aLane,
  anError,
  aPlannedConfig,
  aQuestion,
  aRole,
} from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { createTestDigest, sha256 } from '../../support/fake-source-reader.ts';
import { aJudgedBenchmark, isToJudge, says } from '../../support/judged-benchmark.ts';

const asked = { confidence: 'structured', parser: 'asked' } as const;

/** A group of one question under one config. */
class OneAnswer {
  readonly engine: FakeEngine;

  constructor(answer: FakeAnswer, benchmark: Benchmark) {
    this.engine = new FakeEngine({ answer, benchmark });
  }

  static of(text: string, config: Partial<Config> = asked): OneAnswer {
    return new OneAnswer(() => says(text), aBenchmark({ configs: [aConfig(config)] }));
  }

  get header() {
    const [config] = this.engine.benchmark.configs;
    return aGroupHeader({
      configs: [aPlannedConfig({ scorer: config?.scorer ?? { kind: 'exact' } })],
      questions: {
        key: 'questions/q1.jsonl',
        sha256: sha256(`${JSON.stringify(aQuestion())}\n`),
        count: 1,
      },
    });
  }

  get requests(): readonly ModelRequest[] {
    return this.engine.models.requests;
  }

  async row(question: Question = aQuestion()): Promise<CellRow> {
    await this.engine.work(await this.engine.deliver(question));
    await this.engine.workAll();
    return await this.read();
  }

  async read(config = this.engine.benchmark.configs[0]): Promise<CellRow> {
    if (config === undefined) throw new Error('expected a config');
    for await (const row of readRows(this.header, 'demo-r1', config, this.engine)) return row;
    throw new Error('expected a row');
  }
}

describe('a config that asks for a confidence', () => {
  it('has the answer graded alone, and keeps the text as it was', async () => {
    const text = '{"answer": "42", "confidence": 0.85}';

    const row = await OneAnswer.of(text).row();

    expect(row).toMatchObject({ outcome: 'scored', score: 1, answer: '42', output: text });
    expect(row.confidence).toBe(0.85);
    expect(row).not.toHaveProperty('confidenceReason');
  });

  it('has the answer alone graded again by another scorer', async () => {
    const one = OneAnswer.of('{"answer": "forty", "confidence": 0.85}');
    await one.row(aQuestion({ target: ['forty-two'] }));
    const [config] = one.engine.benchmark.configs;
    const later = { ...aConfig(config), scorer: { kind: 'regex', pattern: '^.*$' }, grading: 2 };

    const row = await one.read(later);

    expect(row).toMatchObject({ outcome: 'scored', answer: 'forty', confidence: 0.85 });
  });

  it('says why an answer has none', async () => {
    const row = await OneAnswer.of('{"answer": "42", "confidence": NaN}').row();

    expect(row).toMatchObject({ score: 1, confidence: null, confidenceReason: 'not-a-number' });
  });

  it('says of a refusal that it has none', async () => {
    const answer = says('');
    const refusal = { ...answer, output: { ...answer.output, text: null, refusal: 'no' } };
    const benchmark = aBenchmark({ configs: [aConfig(asked)] });

    const row = await new OneAnswer(() => refusal, benchmark).row();

    expect(row).toMatchObject({ outcome: 'unparsed', confidenceReason: 'no-confidence' });
  });

  it('says nothing of the confidence of a cell that failed', async () => {
    const benchmark = aBenchmark({ configs: [aConfig(asked)] });
    const failing = new OneAnswer(() => anError('content-filtered'), benchmark);

    const row = await failing.row();

    expect(row).toMatchObject({ outcome: 'failed', confidence: null });
    expect(row).not.toHaveProperty('confidenceReason');
  });

  it('asks for it with a schema and in words', async () => {
    const one = OneAnswer.of('{}', { ...asked, system: 'Be brief.' });

    await one.row();

    const [request] = one.requests;
    expect(request?.outputSchema?.name).toBe('answer_with_confidence');
    expect(request?.messages[0]?.role).toBe('system');
    expect(request?.messages[0]?.content).toMatch(
      /^Be brief\.\n\nReply with a JSON object.*0 to 1/,
    );
    expect(request?.messages[1]?.content).toBe('What is 6 x 7?');
  });

  it('asks in tags, without a schema, where structured output is refused', async () => {
    const text = 'Six times seven.\n<answer>42</answer>\n<confidence>85 %</confidence>';
    const one = OneAnswer.of(text, { ...asked, confidence: 'tagged' });

    const row = await one.row();

    expect(one.requests[0]?.outputSchema).toBeUndefined();
    expect(one.requests[0]?.messages[0]?.content).toMatch(/<answer>.*<confidence>/);
    expect(row).toMatchObject({ score: 1, answer: '42', confidence: 0.85, output: text });
  });

  it('is not one that does not ask: its text is the answer', async () => {
    const one = OneAnswer.of('{"answer": "42", "confidence": 0.85}', {});

    const row = await one.row();

    expect(one.requests[0]?.messages).toHaveLength(1);
    expect(row).toMatchObject({ score: 0, confidence: null });
    expect(row).not.toHaveProperty('confidenceReason');
  });

  it('compares the answers of its members alone', async () => {
    const replies = ['{"answer": "42", "confidence": 0.6}', '{"answer": "42", "confidence": 0.9}'];
    const member = (step: string) => aRole({ step, confidence: 'structured' });
    const config = aConfig({
      ...asked,
      solver: 'cascade',
      roles: [member('member-1'), member('member-2'), member('escalation')],
      combination: aCombination({ agreement: 'text' }),
    });
    const benchmark = aBenchmark({ configs: [config] });

    const row = await new OneAnswer(() => says(replies.shift() ?? '?'), benchmark).row();

    expect(row.calls.map(({ step }) => step)).toEqual(['member-1', 'member-2']);
    expect(row).toMatchObject({ answer: '42', confidence: 0.6 });
  });
});

describe('the form in which a model is asked for a confidence', () => {
  function resolve(config: object, lane: object = {}, questions: unknown = 'q.jsonl'): Config {
    const lanes = { lab: { base_url: 'http://127.0.0.1:1/v1', ...lane } };
    const spec = parseSpec({ questions, lanes, configs: [{ name: 'x', ...config }] }, 'x.toml');
    const [resolved] = resolveBenchmark(spec, 'x.toml').configs;
    if (resolved === undefined) throw new Error('expected a config');
    return resolved;
  }

  function formsOf({ roles }: Config): readonly unknown[] {
    return roles.map(({ step, confidence }) => [step, confidence]);
  }

  const one = { model: 'lab/m' };
  const confidence = true;

  it('is a schema, but for the models that their lane lists', () => {
    const router = { solver: 'router', models: ['lab/m', 'lab/n', 'openai/m'], confidence };

    expect(formsOf(resolve({ ...router, fail_over: true }, { tagged_text: ['m'] }))).toEqual([
      ['model-1', 'tagged'],
      ['model-2', 'structured'],
      ['model-3', 'structured'],
    ]);
  });

  it('is that of every model that answers, and of no judge', () => {
    const cascade = {
      solver: 'cascade',
      members: [one, one],
      agreement: 'judge',
      judge: one,
      escalate: one,
      confidence,
    };

    expect(formsOf(resolve(cascade))).toEqual([
      ['member-1', 'structured'],
      ['member-2', 'structured'],
      ['judge', undefined],
      ['escalation', 'structured'],
    ]);
  });

  it('is none where the prompt asks itself', () => {
    const config = resolve({ ...one, confidence, parser: 'sparkit' });

    expect([config.parser, config.roles[0]?.confidence]).toEqual(['sparkit', undefined]);
  });

  it.each([
    ['the prompt', {}, 'hle', undefined],
    ['the prompt, and confidence = true', { confidence }, 'hle', undefined],
    ['a prompt of its own', { system: 'Be brief.' }, undefined, undefined],
    [
      'a prompt of its own, and confidence = true',
      { system: 's', confidence },
      'asked',
      'structured',
    ],
  ])('of dataset hle follows from %s', (_, parts, parser, form) => {
    const config = resolve({ ...one, ...parts }, {}, { dataset: 'hle', path: 'x' });

    expect([config.parser, config.roles[0]?.confidence]).toEqual([parser, form]);
  });

  it('changes the fingerprint of a request', () => {
    const fingerprints = [undefined, 'structured', 'tagged'].map((form) => {
      const config = aConfig({ confidence: form as Config['confidence'] });
      const request = requestOf(config, renderPrompt(config, aQuestion()));
      return fingerprintOf(request, aLane(), createTestDigest);
    });

    expect(new Set(fingerprints).size).toBe(3);
  });
});

describe('structured output that a server refuses', () => {
  it('blocks the model and leaves the cells as they are, with what to do about it', async () => {
    const benchmark = aBenchmark({ configs: [aConfig(asked)] });
    const one = new OneAnswer(() => anError('structured-output-refused'), benchmark);

    const row = await one.row();

    expect(row).toMatchObject({ outcome: 'not-attempted', error: { class: 'misconfigured' } });
    expect(one.requests).toHaveLength(1);
    const [breaker] = one.engine.openBreakers.values();
    expect(breaker?.breakerKey).toBe('lab/m');
    expect(breaker?.error.message).toMatch(
      /add "m" to tagged_text of \[lanes\.lab\].*thrice resume GROUP --spec SPEC/,
    );
  });

  it('is a possible reason of any other refusal of such a request', async () => {
    const benchmark = aBenchmark({ configs: [aConfig(asked)] });
    const one = new OneAnswer(() => anError('invalid-request'), benchmark);

    const row = await one.row();

    expect(row).toMatchObject({ outcome: 'failed', reason: 'invalid-request' });
    expect(row.error?.message).toMatch(/if it refuses structured output, add "m" to tagged_text/);
  });

  it('is about the parameters of a config that does not ask for a confidence', async () => {
    const benchmark = aBenchmark({ configs: [aConfig()] });
    const one = new OneAnswer(() => anError('structured-output-refused'), benchmark);

    const row = await one.row();

    expect(row).toMatchObject({ outcome: 'failed', reason: 'invalid-request' });
    expect(row.error?.message).not.toMatch(/tagged_text/);
  });
});

describe('the confidence that a judge finds in an answer', () => {
  const verdict = 'extracted_answer: 42\nreasoning: r\ncorrect: yes\nconfidence: 70';
  const hle = { parser: 'hle' } as const;
  const scorer: ScorerSpec = { kind: 'judge', model: 'court/judge' };

  function judged(text: string, config: Partial<Config>): OneAnswer {
    const benchmark = aJudgedBenchmark(scorer);
    const [base] = benchmark.configs;
    const answering = aConfig({ ...base, ...config });
    const gradedBy = gradeConfigOf(answering, { scorer, grading: 1 });
    if (gradedBy === undefined) throw new Error('expected judges');
    const graded = { ...answering, gradedBy, judgedBy: [gradedBy] };
    return new OneAnswer((request) => says(isToJudge(request) ? verdict : text), {
      ...benchmark,
      configs: [graded],
      gradeConfigs: [gradedBy],
    });
  }

  it('counts where the answer itself gives none', async () => {
    const row = await judged('42, I am rather sure', hle).row();

    expect(row).toMatchObject({ outcome: 'scored', confidence: 0.7 });
    expect(row).not.toHaveProperty('confidenceReason');
  });

  it('does not where the answer gives one', async () => {
    const row = await judged('Answer: 42\nConfidence: 85%', hle).row();

    expect(row).toMatchObject({ outcome: 'scored', confidence: 0.85 });
  });

  it('does not where none was asked for', async () => {
    const row = await judged('42, I am rather sure', {}).row();

    expect(row).toMatchObject({ outcome: 'scored', confidence: null });
    expect(row).not.toHaveProperty('confidenceReason');
  });

  it('is asked for on the answer alone', async () => {
    const one = judged('{"answer": "forty-two", "confidence": 0.85}', asked);

    const row = await one.row();

    const prompt = JSON.stringify(one.requests.find(isToJudge)?.messages);
    expect(prompt).toContain('forty-two');
    expect(prompt).not.toContain('0.85');
    expect(prompt).not.toContain('Reply with a JSON object');
    expect(one.requests.find(isToJudge)?.outputSchema).toBeUndefined();
    expect(one.engine.benchmark.gradeConfigs[0]?.confidence).toBeUndefined();
    expect(row).toMatchObject({ outcome: 'scored', confidence: 0.85 });
  });
});

describe('published confidences', () => {
  async function publish(one: OneAnswer) {
    const { engine, header } = one;
    await engine.ledger.createGroup(header);
    await one.row();
    const loaded = { header, benchmark: engine.benchmark, state: 'active' as const };
    return await finalizeGroup(loaded, engine);
  }

  it('have their mean and their number in the summary, and their form in the manifest', async () => {
    const one = OneAnswer.of('{"answer": "42", "confidence": 0.85}');

    const summary = await publish(one);

    const expected = { meanConfidence: 0.85, confidences: 1, nCal: 1 };
    expect(summary.configs[0]?.replicates[0]).toMatchObject(expected);
    const manifest: unknown = JSON.parse(
      one.engine.blobs.texts.get('runs/demo/demo-r1/manifest.json') ?? '',
    );
    expect(manifest).toMatchObject({ configs: [{ confidence: { 'lab/m': 'structured' } }] });
  });

  it('are recomputed from the recorded answers', async () => {
    const one = OneAnswer.of('{"answer": "42", "confidence": 0.85}');
    const { engine, header } = one;
    await publish(one);
    const { blobs, userCode, createDigest } = engine;
    const files = { blobs, userCode, createDigest };
    const before = await verifyGroup(header, engine.benchmark, files);
    const key = 'runs/demo/demo-r1/cells/direct.jsonl';
    const changed = (blobs.texts.get(key) ?? '').replace('"confidence":0.85', '"confidence":0.99');
    await blobs.write(key, [changed]);

    const after = await verifyGroup(header, engine.benchmark, files);

    expect(before.mismatches).toEqual([]);
    expect(after.mismatches).toContainEqual(
      expect.stringContaining('confidence: published 0.99, the recorded answer gives 0.85'),
    );
  });
});

describe('SPARKIT as parser', () => {
  it('takes answer and confidence as SPARKIT does, without asking for them', async () => {
    const text = '{"answer_text": "42", "answer_confidence": 1.7}';
    const one = OneAnswer.of(text, { parser: 'sparkit' });

    const row = await one.row();

    expect(one.requests[0]?.messages).toHaveLength(1);
    expect(row).toMatchObject({ score: 1, answer: '42', confidence: 1, output: text });
  });

  it('gives 0.5 to what it cannot read', async () => {
    expect(await OneAnswer.of('42', { parser: 'sparkit' }).row()).toMatchObject({
      score: 1,
      confidence: 0.5,
    });
  });
});
