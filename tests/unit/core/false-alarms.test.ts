import {
  benchmarkSpecSchema,
  loadGroup,
  readConfigRows,
  resolveBenchmark,
  seededRandom,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { measureFalseAlarms } from '../../../packages/core/src/compare/false-alarms.ts';
import { aModelResponse, anError, anOutput, aQuestion } from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

/** A config that answers each question right in so many of 100 cases. */
async function aConfigWith(replicates: number, questionCount = 40) {
  const spec = benchmarkSpecSchema.parse({
    questions: '/q.jsonl',
    lanes: { lab: { base_url: 'http://127.0.0.1:1/v1' } },
    configs: [{ name: 'a', model: 'lab/a' }],
    replicates,
  });
  const benchmark = resolveBenchmark(spec, 'b.toml');
  const random = seededRandom('answers');
  const engine = new FakeEngine({
    benchmark,
    answer: ({ model }) =>
      random() < 0.02
        ? anError('content-filtered')
        : aModelResponse({
            output: anOutput({ text: random() < 0.6 ? '42' : '7' }),
            servedModel: model,
          }),
  });
  const questions = Array.from({ length: questionCount }, (_, index) =>
    aQuestion({ id: `q${index}` }),
  );
  const header = await engine.plan(questions, { draft: { spec } });
  await engine.workAll();
  const group = loadGroup({ header, state: 'active', isPlanned: true });
  const [config] = benchmark.configs;
  if (config === undefined) throw new Error('expected a config');
  const readRows = (runs: readonly string[]) => readConfigRows(header, runs, config, engine);
  return { group, config, runs: header.runs, readRows };
}

describe('the false alarms of a comparison', () => {
  it.each([2, 3, 4])(
    'of a config with %i replicates are few, and the same each time',
    async (replicates) => {
      const config = await aConfigWith(replicates);

      const alarms = await measureFalseAlarms(config);

      expect(alarms).toMatchObject({ config: 'a', splits: 500, level: 0.05 });
      expect(alarms.questions).toBeGreaterThan(35);
      expect(alarms.rate).toBe(alarms.alarms / 500);
      expect(alarms.ci95?.[0]).toBeLessThan(0.05);
      expect(alarms.rate).toBeLessThan(0.08);
      expect(await measureFalseAlarms(config)).toEqual(alarms);
    },
  );

  it('are unknown for one replicate', async () => {
    await expect(measureFalseAlarms(await aConfigWith(1))).rejects.toMatchObject({
      code: 'invalid-argument',
      message: expect.stringContaining('received one replicate in demo') as string,
    });
  });
});
