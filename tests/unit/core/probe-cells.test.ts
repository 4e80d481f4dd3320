import {
  benchmarkSpecSchema,
  dispatchTasks,
  enqueueGroup,
  finalizeGroup,
  type GroupHeader,
  type LoadedGroup,
  listRecordedRequests,
  loadGroup,
  probeGroup,
  resolveBenchmark,
  type ScorerSpec,
  verifyGroup,
  withCurrentGrading,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { anError } from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import type { FakeAnswer } from '../../support/fake-model-client.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { aVerdict, isToJudge, judgeScorer, says } from '../../support/judged-benchmark.ts';
import { workPartOptions } from '../../support/work-part-options.ts';

/** Answers every question, likes every answer, and prefers the first of two. */
const answer: FakeAnswer = (request) => {
  const isComparison = String(request.messages.at(-1)?.content).includes('better: first');
  const reply = isComparison ? 'better: first' : aVerdict(true);
  return { ...says(isToJudge(request) ? reply : '42'), servedModel: request.model };
};

/** A stage whose answers are judged, and whose judges are to be probed; no task of a probe is there. */
async function aProbedStage(
  ids: readonly string[],
  answers: FakeAnswer = answer,
): Promise<{ readonly stage: FakeStage; readonly header: GroupHeader }> {
  const stage = new FakeStage(answers);
  const planned = await stage.enter({ ids });
  const { lanes } = planned.spec;
  const header: GroupHeader = {
    ...planned,
    spec: { ...planned.spec, lanes: { ...lanes, court: { ...lanes['lab'], batch: false } } },
    configs: planned.configs.map((config) => ({ ...config, scorer: judgeScorer })),
    probed: ['direct@1'],
  };
  await stage.ledger.replaceHeader(planned, header);
  await stage.ledger.markPlanned(header);
  await stage.complete(ids);
  await stage.complete(ids, { config: 'direct@1' });
  return { stage, header };
}

/** A group of one question whose judges are to be probed; the tasks of the probes are not sent. */
async function aGroupToProbe({
  config = {},
  quality = judgeScorer,
  answers = answer,
}: {
  readonly config?: object;
  readonly quality?: ScorerSpec;
  readonly answers?: FakeAnswer;
} = {}): Promise<{ readonly engine: FakeEngine; readonly group: LoadedGroup }> {
  const lane = { base_url: 'http://127.0.0.1:1/v1', served_model: 'allow' };
  const spec = benchmarkSpecSchema.parse({
    questions: '/q.jsonl',
    lanes: { lab: lane, court: lane },
    scorers: { quality },
    configs: [{ name: 'a', model: 'lab/m', scorer: 'quality', ...config }],
  });
  const engine = new FakeEngine({ benchmark: resolveBenchmark(spec, 'b.toml'), answer: answers });
  const planned = await engine.plan(undefined, { draft: { spec } });
  await engine.workAll();
  const found = loadGroup({ header: planned, state: 'active', isPlanned: true });
  const origin = { commandLine: ['judge'], toolVersion: '0.1.0' };
  const header = await probeGroup(found, ['a@1'], origin, engine);
  const group = loadGroup({ ...found, header });
  const benchmark = await withCurrentGrading(header, group.benchmark, engine.blobs);
  return { engine, group: { ...group, benchmark } };
}

const probe = { config: 'direct@1+probe' };

function sentProbes({ queue }: Pick<FakeStage, 'queue'>): readonly string[] {
  return queue.sent
    .map(({ task }) => `${task.config} ${task.id}`)
    .filter((name) => /\+/.test(name));
}

describe('the cells that probe a judge', () => {
  it('are sent by whoever resumes their group, if the command that probes dies before it sends them', async () => {
    const { engine, group } = await aGroupToProbe();
    const { header } = group;
    expect((await engine.ledger.readGroup(header.group))?.isPlanned).toBe(false);

    await enqueueGroup(header, group.benchmark, engine);

    expect(sentProbes(engine)).toEqual(['a@1+probe q1']);
    expect((await engine.ledger.readGroup(header.group))?.isPlanned).toBe(true);
  });

  it('are about the answer alone, for who probes and for who verifies and replays', async () => {
    const config = { confidence: true };
    const quality = { ...judgeScorer, form: 'toolorchestra' };
    // Padded, the answer alone is just short enough for a judge of this form; with its confidence it is not.
    const long = Array.from({ length: 300 }, () => 'word').join(' ');
    const stated: FakeAnswer = (request, ...rest) => {
      if (!isToJudge(request)) return says(`{"answer": "${long}", "confidence": 0.9}`);
      const asked = answer(request, ...rest);
      const isComparison = 'output' in asked && asked.output.text === 'better: first';
      return isComparison ? asked : says('<correct>True</correct>');
    };
    const { engine, group } = await aGroupToProbe({ config, quality, answers: stated });
    const { header, benchmark } = group;
    const working = new FakeEngine({ benchmark, stores: engine, answer: stated });
    await enqueueGroup(header, benchmark, working);
    await working.workAll();

    await finalizeGroup(group, engine);
    expect((await verifyGroup(header, benchmark, engine)).mismatches).toEqual([]);

    const steps: string[] = [];
    for await (const { step } of listRecordedRequests(group, header.runs, engine))
      steps.push(`${step.config} ${step.step}`);
    const requests = [...engine.models.requests, ...working.models.requests];
    expect(steps).toEqual(requests.map(({ cell, step }) => `${cell?.config} ${step}`));
    expect(steps).toContain('a@1+probe padded:judge-1');
  });

  it('wait in a stage for the breaker of their judge, and are sent again once it has closed', async () => {
    let isOut = false;
    const { stage } = await aProbedStage(['q1'], (request, ...rest) =>
      isOut ? anError('quota-exhausted') : answer(request, ...rest),
    );
    isOut = true;
    await stage.complete(['q1'], probe);
    const [breaker] = await stage.ledger.listOpenBreakers();
    if (breaker === undefined) throw new Error('expected an open breaker');
    const { breakerKey } = breaker;
    expect(await stage.deferred()).toEqual([`${breakerKey} demo`]);

    isOut = false;
    await stage.ledger.closeBreaker(breaker);
    const refill = { v: 1, group: 'demo', kind: 'refill', breakerKey } as const;
    await dispatchTasks(refill, workPartOptions(), stage);

    expect(sentProbes(stage)).toEqual(['direct@1+probe q1', 'direct@1+probe q1']);
  });

  it('are sent again in a stage by any request for missing tasks, until they have a result', async () => {
    const { stage } = await aProbedStage(['q1', 'q2']);
    await stage.complete(['q1'], probe);

    const refill = { v: 1, group: 'demo', kind: 'refill' } as const;
    await dispatchTasks(refill, workPartOptions(), stage);

    expect(sentProbes(stage)).toEqual(['direct@1+probe q1', 'direct@1+probe q2']);
  });

  it('leave it to the reconciler to request the results of a group that is complete', async () => {
    const ids = ['q1', 'q2', 'q3'];
    const { stage } = await aProbedStage(ids);
    const requested = stage.requests.results.length;
    const before = (await stage.activeGroups.find('demo'))?.token;

    await stage.complete(ids, probe);

    expect(stage.cell({ ...probe, id: 'q3' })?.result?.outcome).toBe('scored');
    expect(stage.requests.results).toHaveLength(requested);
    expect((await stage.activeGroups.find('demo'))?.token).not.toBe(before);
  });
});
