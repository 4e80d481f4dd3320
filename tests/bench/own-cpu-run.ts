import {
  benchmarkSpecSchema,
  checkQuestions,
  finalizeGroup,
  type ModelClient,
  type ModelResponse,
  openQuestions,
} from '@thrice/core';
import {
  createNodeDigest,
  fileSourceReader,
  LocalEngine,
  openGovernor,
  systemClock,
  workGroup,
} from '@thrice/local';
import { parseSpec } from '../../packages/core/src/spec/parse-spec.ts';
import { resolveBenchmark } from '../../packages/core/src/spec/resolve-benchmark.ts';
import { aUsage } from '../support/builders.ts';
import { aDraft } from '../support/fake-engine.ts';
import { inProcessPatterns } from '../support/in-process-patterns.ts';
import { noBatchClients } from '../support/no-batch-clients.ts';
import { planGroup } from '../support/plan-group.ts';

// Runs a benchmark in this process over a model that answers at once, without HTTP, and prints the processor time
// of each stage, microseconds per cell, as JSON.
const [folder = '', questionFile = '', parallel = ''] = process.argv.slice(2);

const answer: ModelResponse = {
  endpoint: 'http://127.0.0.1:9/v1',
  servedModel: 'model',
  output: { text: 'The answer is 42.', images: [], toolCalls: [], reasoning: null, refusal: null },
  finishReason: 'stop',
  rawFinishReason: 'stop',
  usage: aUsage({ inputTokens: 110, outputTokens: 6 }),
  latencyMs: 1,
  ttftMs: null,
  rateLimits: {},
  fault: undefined,
  // As the simulator sends it.
  raw: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'model',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'The answer is 42.' },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 110, completion_tokens: 6, total_tokens: 116 },
  },
};
const instantModel: ModelClient = { send: async () => answer };

const spec = parseSpec(
  {
    questions: questionFile,
    parallel: Number(parallel),
    lanes: { lab: { base_url: 'http://127.0.0.1:9/v1' } },
    prices: { 'lab/model': { input: 1, output: 1 } },
    configs: [{ name: 'model', model: 'lab/model', scorer: 'includes' }],
  },
  'own-cpu.json',
  benchmarkSpecSchema,
);
const benchmark = resolveBenchmark(spec, 'own-cpu.json');
const source = openQuestions(questionFile, (path) => path, fileSourceReader);
const never = new AbortController().signal;
using engine = new LocalEngine(folder);

const checked = await checkQuestions(source, undefined, benchmark.configs, createNodeDigest);
const draft = aDraft({ draft: { benchmark: 'own-cpu', label: 'own-cpu', spec } });
let mark = process.cpuUsage();
const stages: Record<string, number> = {};

function endStage(name: string): void {
  const { user, system } = process.cpuUsage(mark);
  stages[name] = (user + system) / checked.count;
  mark = process.cpuUsage();
}

const header = await planGroup(
  {
    benchmark,
    draft,
    source,
    checked,
    skipped: new Map(),
    clock: systemClock,
    random: Math.random,
  },
  engine,
);
endStage('plan');
await workGroup({
  engine,
  header,
  isPlanned: true,
  benchmark,
  clientFor: () => instantModel,
  batchClientFor: noBatchClients,
  userCode: inProcessPatterns,
  governor: openGovernor({ engine, benchmark, random: Math.random }),
  random: Math.random,
  observe: () => undefined,
  scope: { runs: header.runs, configs: header.configs.map(({ config }) => config) },
  waitForQuota: false,
  drainSignal: never,
  stopSignal: never,
});
endStage('work');
await finalizeGroup(
  { header, benchmark, state: 'active' },
  {
    clock: engine.clock,
    ledger: engine.ledger,
    blobs: engine.blobs,
    userCode: inProcessPatterns,
  },
  { earlyEnd: undefined },
);
endStage('publish');
process.stdout.write(JSON.stringify(stages));
