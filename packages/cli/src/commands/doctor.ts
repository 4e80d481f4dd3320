import {
  type Benchmark,
  checkPlan,
  checkQuestions,
  countOf,
  type Lane,
  openQuestions,
  resolveBenchmark,
  toThriceError,
  withSimulator,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import { type HttpTransport, listModels } from '@thrice/models';
import {
  keyOf,
  keyStatus,
  openHttpTransport,
  openModels,
  openQuestionFiles,
} from '../local/compose-local.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';
import { simulatedQuestions, startBundledSimulator } from '../spec/bundled-simulator.ts';
import { type Probe, probeModels } from '../spec/probe-models.ts';
import { readSpecFile } from '../spec/read-spec-file.ts';

/** The result of one check. */
interface Finding {
  readonly severity: 'ok' | 'warning' | 'error';
  readonly what: string;
}

const LABELS = { ok: 'ok  ', warning: 'warn', error: 'FAIL' } as const;

/** What the checks of a lane need. */
interface LaneCheck {
  readonly benchmark: Benchmark;
  readonly terminal: Terminal;
  readonly transport: HttpTransport;
}

/** `thrice doctor`: checks everything a run needs. Creates nothing; one small call per model costs a few tokens. */
export async function checkBenchmark(
  terminal: Terminal,
  file: string,
  options: { readonly json?: boolean },
): Promise<ExitCode> {
  const { spec, resolvePath } = await readSpecFile(file, terminal.workingFolder);
  const source = openQuestions(spec.questions, resolvePath, openQuestionFiles(terminal), spec);
  const { lanes } = resolveBenchmark(spec, file);
  const keys = Object.fromEntries(
    [...lanes.values()].map((lane) => [lane.name, keyStatus(lane, terminal)]),
  );
  const resolved = resolveBenchmark(spec, file, keys);
  const { configs } = resolved;
  const checked = await checkQuestions(source, spec.select, configs, createNodeDigest);
  await using simulator = await startBundledSimulator(
    spec,
    () => simulatedQuestions(source),
    resolvePath,
  );
  const benchmark = withSimulator(resolved, simulator?.url);
  const cellCount = [...checked.cellCounts.values()].reduce((sum, count) => sum + count, 0);
  const findings: Finding[] = [
    {
      severity: 'ok',
      what: `${file}: ${countOf(checked.count, 'question')}, ${countOf(configs.length, 'config')}, ${countOf(cellCount * benchmark.replicates, 'cell')}`,
    },
    ...checkPlan(spec, resolved, checked).map(({ severity, code, message }) => ({
      severity,
      what: `${file}: [${severity === 'error' ? 'invalid-spec' : code}] ${message}`,
    })),
  ];
  await using transport = openHttpTransport(terminal);
  for (const lane of benchmark.lanes.values()) {
    findings.push(...(await checkLane(lane, { benchmark, terminal, transport })));
  }
  const probes = await callModels(benchmark, terminal);
  findings.push(...probes.map(describeProbe));
  if (options.json === true) terminal.print(JSON.stringify({ findings, probes }, null, 2));
  else
    for (const { severity, what } of findings)
      terminal.print(plainText(`${LABELS[severity]} ${what}`));
  const hasFailed = findings.some(({ severity }) => severity === 'error');
  return hasFailed ? exitCodes.unavailable : exitCodes.complete;
}

async function callModels(benchmark: Benchmark, terminal: Terminal): Promise<readonly Probe[]> {
  const lanes = [...benchmark.lanes.values()].filter(
    (lane) => keyStatus(lane, terminal) !== 'missing',
  );
  await using models = openModels(terminal);
  return await probeModels(benchmark, lanes, models);
}

function describeProbe(probe: Probe): Finding {
  const { lane, model, isStreamed, isFine, error } = probe;
  const where = `lane ${lane}, model ${model}${isStreamed ? ', streamed' : ''}`;
  const severity = isFine ? 'ok' : 'error';
  if (error === null) return { severity, what: `${where}: ${describeAnswer(probe)}` };
  const remedy = error.remedy === null ? '' : `; ${error.remedy}`;
  return {
    severity,
    what: `${where}: [${error.code}] ${error.message}${remedy}`,
  };
}

function describeAnswer(probe: Probe): string {
  const { servedModel, latencyMs, inputTokens, outputTokens, finishReason } = probe;
  return [
    `answered by ${servedModel ?? 'a model without a name'}`,
    latencyMs === null ? '' : ` in ${(latencyMs / 1_000).toFixed(1)} s`,
    `, ${inputTokens ?? 'unknown'} + ${outputTokens ?? 'unknown'} tokens`,
    `, finish reason ${finishReason ?? 'unknown'}`,
  ].join('');
}

async function checkLane(lane: Lane, check: LaneCheck): Promise<Finding[]> {
  const { terminal, benchmark } = check;
  const status = keyStatus(lane, terminal);
  if (status === 'missing') {
    const what = `lane ${lane.name}: expected a key in ${lane.apiKeyEnv ?? ''}, found none`;
    // A router does without it.
    const isUsed = benchmark.configs.some(({ roles }) =>
      roles.some((role) => role.lane === lane.name),
    );
    return [{ severity: isUsed ? 'error' : 'warning', what }];
  }
  const key: Finding = { severity: 'ok', what: `lane ${lane.name}: key ${status}` };
  const endpoints = await Promise.all(
    lane.endpoints.map((endpoint) =>
      checkEndpoint({ lane, endpoint, key: keyOf(lane, terminal), ...check }),
    ),
  );
  return [key, ...endpoints.flat()];
}

async function checkEndpoint({
  lane,
  endpoint,
  key,
  benchmark,
  transport,
}: LaneCheck & {
  readonly lane: Lane;
  readonly endpoint: string;
  readonly key: string | undefined;
}): Promise<Finding[]> {
  const where = `lane ${lane.name}, ${endpoint}`;
  try {
    const names = await listModels({ lane, endpoint, key, transport });
    const wanted = benchmark.configs.flatMap(({ name, roles }) =>
      [...new Set(roles.filter((role) => role.lane === lane.name).map(({ model }) => model))].map(
        (model) => ({ name, model }),
      ),
    );
    const missing = names.length === 0 ? [] : wanted.filter(({ model }) => !names.includes(model));
    return [
      {
        severity: 'ok',
        what: `${where}: reachable, lists ${names.length === 0 ? 'no models' : countOf(names.length, 'model')}`,
      },
      ...missing.map(
        ({ name, model }): Finding => ({
          severity: 'error',
          what: `${where}: does not list model "${model}" of config "${name}"`,
        }),
      ),
    ];
  } catch (error) {
    return [{ severity: 'error', what: `${where}: ${toThriceError(error).message}` }];
  }
}
