import {
  type Benchmark,
  type Config,
  isServedModel,
  type Lane,
  type ModelResponse,
  modelRefOf,
  priceUsage,
  type Role,
  requestOf,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import type { ModelClients } from '@thrice/models';
import { remedyOf } from './call-remedies.ts';

/** The prompt of a probe: it costs a few tokens, and any model can answer it. */
const PROMPT = 'Reply with the word OK.';

/** The result of one small call to a model. */
export interface Probe {
  readonly lane: string;
  readonly model: string;
  readonly isStreamed: boolean;
  /** Whether a run would take the answer. */
  readonly isFine: boolean;
  /** The model that answered, by its own name; null where it gave none, or nothing came back. */
  readonly servedModel: string | null;
  readonly latencyMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** What the call has cost, USD; null if unknown. */
  readonly costUsd: number | null;
  readonly finishReason: string | null;
  /** What went wrong, and what to do; null if nothing did. */
  readonly error: {
    readonly class: string;
    readonly code: string;
    readonly status: number | null;
    readonly message: string;
    readonly remedy: string | null;
  } | null;
}

/**
 * Calls each model of a benchmark once, with the parameters of its first config, streamed where that streams.
 *
 * All are called, even if one fails.
 *
 * @param lanes - The lanes to call; one whose key is missing is left out.
 */
export async function probeModels(
  benchmark: Benchmark,
  lanes: readonly Lane[],
  models: ModelClients,
): Promise<readonly Probe[]> {
  const firstUses = new Map<string, UseOfModel>();
  for (const config of benchmark.configs) {
    for (const role of config.roles) {
      const key = `${modelRefOf(role)} ${role.isStreamed}`;
      if (!firstUses.has(key)) firstUses.set(key, { config, role });
    }
  }
  return await Promise.all(
    [...firstUses.values()].flatMap((use) => {
      const lane = lanes.find(({ name }) => name === use.role.lane);
      return lane === undefined ? [] : [probe(use, lane, { benchmark, models })];
    }),
  );
}

/** The first use of a model: that of its one small call. */
interface UseOfModel {
  readonly config: Config;
  readonly role: Role;
}

async function probe(
  { config, role }: UseOfModel,
  lane: Lane,
  { benchmark, models }: { readonly benchmark: Benchmark; readonly models: ModelClients },
): Promise<Probe> {
  const request = requestOf(role, [{ role: 'user', content: PROMPT }]);
  const cell = { run: 'doctor', config: config.name, id: 'doctor' };
  const about = { lane: lane.name, model: role.model, isStreamed: role.isStreamed };
  const response = await models
    .clientFor(lane)
    .send({ ...request, lane, cell, step: 'answer' }, new AbortController().signal)
    .catch(toThriceError);
  if (response instanceof ThriceError) {
    const latencyMs = response.details.latencyMs ?? null;
    return { ...about, isFine: false, ...NOTHING, latencyMs, error: describeError(response) };
  }
  const policy = config.servedModel ?? lane.servedModel;
  const other = policy === 'allow' ? undefined : findOtherModel(response, role.model);
  const fault = response.fault ?? other;
  const { servedModel, latencyMs, finishReason, usage } = response;
  const { inputTokens, outputTokens } = usage;
  const costUsd = priceUsage(benchmark.prices.get(modelRefOf(role)), usage);
  return {
    ...about,
    isFine: fault === undefined || (fault === other && policy === 'warn'),
    ...{ servedModel, latencyMs, inputTokens, outputTokens, costUsd, finishReason },
    error: fault === undefined ? null : describeError(fault),
  };
}

const NOTHING = {
  servedModel: null,
  inputTokens: null,
  outputTokens: null,
  costUsd: null,
  finishReason: null,
};

function findOtherModel(
  { servedModel, endpoint }: ModelResponse,
  model: string,
): ThriceError | undefined {
  if (isServedModel({ requested: model, served: servedModel, endpoint })) return undefined;
  return new ThriceError({
    code: 'wrong-served-model',
    message: `expected an answer of "${model}", received one of "${servedModel ?? ''}"`,
  });
}

function describeError({ class: errorClass, code, message, details }: ThriceError): Probe['error'] {
  const status = details.status ?? null;
  return { class: errorClass, code, status, message, remedy: remedyOf(code) ?? null };
}
