import type { Benchmark, Config, Lane } from '../domain/benchmark.ts';
import {
  type BenchmarkSpec,
  namedScorerKinds,
  type ScorerSpec,
  scorerSchema,
} from '../domain/benchmark-spec.ts';
import { builtinLanes, SIMULATOR_LANE } from './builtin-lanes.ts';
import { suggestName } from './nearest-name.ts';
import { invalidSpec } from './parse-spec.ts';
import { checkTemplate } from './render-prompt.ts';

type ConfigSpec = BenchmarkSpec['configs'][number];
type LaneSpec = BenchmarkSpec['lanes'][string];

/**
 * Resolves names, built-in lanes and defaults of a checked spec.
 *
 * @param file - The spec's path, for errors; its stem is the default name.
 * @param simulatorUrl - Base URL of the bundled simulator, if it runs.
 * @throws {ThriceError} `invalid-spec` for a name that leads nowhere or is given twice.
 */
export function resolveBenchmark(
  spec: BenchmarkSpec,
  file: string,
  simulatorUrl?: string,
): Benchmark {
  const problems: string[] = [];
  const lanes = new Map<string, Lane>();
  const configs = spec.configs.map((config, index) => {
    const at = `configs[${index}]`;
    problems.push(...configProblems(spec, config, index).map((problem) => `${at}.${problem}`));
    const lane = laneOf(config);
    lanes.set(lane, resolveLane(spec, lane, simulatorUrl));
    return resolveConfig(spec, config, lane);
  });
  for (const [name, lane] of Object.entries(spec.lanes)) {
    problems.push(...laneProblems(name, lane).map((problem) => `lanes.${name}${problem}`));
  }
  if (problems.length > 0) throw invalidSpec(file, problems);
  return {
    name: spec.name ?? defaultName(file),
    replicates: spec.replicates,
    parallel: spec.parallel,
    maxAttempts: spec.max_attempts,
    coverageFloor: spec.coverage_floor,
    lanes,
    configs,
    prices: new Map(Object.entries(spec.prices)),
  };
}

/** The benchmark's name where the spec has none: the file's stem in the characters of a name. */
export function defaultName(file: string): string {
  const stem = (file.split('/').at(-1) ?? '').replace(/\.[^.]*$/, '').toLowerCase();
  const name = stem
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '')
    .slice(0, 64);
  return name === '' ? 'benchmark' : name;
}

function laneOf(config: ConfigSpec): string {
  return config.model.slice(0, config.model.indexOf('/'));
}

function configProblems(spec: BenchmarkSpec, config: ConfigSpec, index: number): string[] {
  const problems: string[] = [];
  // Names differing only in case would share a file on some disks.
  const lowerName = config.name.toLowerCase();
  const earlier = spec.configs.findIndex(({ name }) => name.toLowerCase() === lowerName);
  if (earlier < index) problems.push(`name: "${config.name}" is configs[${earlier}] already`);
  const lane = laneOf(config);
  const known = [...Object.keys(builtinLanes), SIMULATOR_LANE, ...Object.keys(spec.lanes)];
  if (!known.includes(lane)) {
    problems.push(
      `model: unknown lane "${lane}"${suggestName(lane, known)} (expected a built-in lane or a [lanes.${lane}] table)`,
    );
  }
  if (!namedScorerKinds.includes(config.scorer) && !Object.hasOwn(spec.scorers, config.scorer)) {
    const names = [...namedScorerKinds, ...Object.keys(spec.scorers)];
    problems.push(
      `scorer: unknown scorer "${config.scorer}"${suggestName(config.scorer, names)} (expected ${names.join(', ')})`,
    );
  }
  if (config.prompt !== undefined && config.prompt_file !== undefined) {
    problems.push('prompt_file: expected either prompt or prompt_file, received both');
  }
  if (config.prompt !== undefined) {
    problems.push(...checkTemplate(config.prompt).map((problem) => `prompt: ${problem}`));
  }
  return problems;
}

function laneProblems(name: string, lane: LaneSpec): string[] {
  const problems: string[] = [];
  if (lane.base_url !== undefined && lane.endpoints !== undefined) {
    problems.push('.endpoints: expected either base_url or endpoints, received both');
  }
  const isKnown = name === SIMULATOR_LANE || builtinLanes[name] !== undefined;
  if (!isKnown && lane.base_url === undefined && lane.endpoints === undefined) {
    problems.push(': expected base_url or endpoints, received neither');
  }
  if (name !== SIMULATOR_LANE && (lane.behaviour ?? lane.faults) !== undefined) {
    problems.push(': behaviour and faults are for lane "sim" only');
  }
  return problems;
}

function resolveLane(spec: BenchmarkSpec, name: string, simulatorUrl: string | undefined): Lane {
  const given = spec.lanes[name];
  const builtin = builtinLanes[name];
  const own = given?.endpoints ?? (given?.base_url === undefined ? undefined : [given.base_url]);
  const fallback = name === SIMULATOR_LANE ? simulatorUrl : builtin?.baseUrl;
  const endpoints = own ?? (fallback === undefined ? [] : [fallback]);
  return {
    name,
    protocol: given?.protocol ?? 'chat',
    endpoints: endpoints.map((endpoint) => endpoint.replace(/\/+$/, '')),
    apiKeyEnv: given?.api_key_env ?? builtin?.apiKeyEnv,
    maxConcurrency: given?.max_concurrency,
    timeoutMs: (given?.timeout_s ?? spec.timeout_s) * 1000,
    maxTokensField: given?.max_tokens_field ?? builtin?.maxTokensField ?? 'max_tokens',
  };
}

function resolveConfig(spec: BenchmarkSpec, config: ConfigSpec, lane: string): Config {
  return {
    name: config.name,
    solver: config.solver,
    lane,
    model: config.model.slice(lane.length + 1),
    system: config.system,
    prompt: config.prompt,
    temperature: config.temperature,
    maxTokens: config.max_tokens,
    isStreamed: config.stream,
    extraBody: config.extra_body,
    scorer: resolveScorer(spec, config.scorer),
    select: config.select,
  };
}

function resolveScorer(spec: BenchmarkSpec, name: string): ScorerSpec {
  const named = Object.hasOwn(spec.scorers, name) ? spec.scorers[name] : undefined;
  if (named !== undefined) return named;
  const parsed = scorerSchema.safeParse({ kind: name });
  return parsed.success ? parsed.data : { kind: 'exact' };
}
