import {
  type Benchmark,
  type Config,
  isServedModel,
  type Lane,
  type ModelResponse,
  modelRefOf,
  type Role,
  requestOf,
  ThriceError,
  toThriceError,
} from '@thrice/core';
import type { ModelClients } from '@thrice/models';

/** The prompt of a probe: it costs a few tokens, and any model can answer it. */
const PROMPT = 'Reply with the word OK.';

/** The result of one small call to a model. */
export interface Probe {
  readonly lane: string;
  readonly model: string;
  readonly isStreamed: boolean;
  readonly isFine: boolean;
  /** The model that answered, by its own name; null where it gave none, or nothing came back. */
  readonly servedModel: string | null;
  readonly latencyMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
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
      return lane === undefined ? [] : [probe(use, lane, models)];
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
  models: ModelClients,
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
  const fault =
    response.fault ??
    findOtherModel(response, { model: role.model, servedModel: config.servedModel }, lane);
  const { servedModel, latencyMs, finishReason, usage } = response;
  const { inputTokens, outputTokens } = usage;
  return {
    ...about,
    isFine: fault === undefined,
    ...{ servedModel, latencyMs, inputTokens, outputTokens, finishReason },
    error: fault === undefined ? null : describeError(fault),
  };
}

const NOTHING = { servedModel: null, inputTokens: null, outputTokens: null, finishReason: null };

function findOtherModel(
  { servedModel, endpoint }: ModelResponse,
  { model, servedModel: ofConfig }: Pick<Config, 'model' | 'servedModel'>,
  lane: Lane,
): ThriceError | undefined {
  if ((ofConfig ?? lane.servedModel) !== 'pin') return undefined;
  if (isServedModel({ requested: model, served: servedModel, endpoint })) return undefined;
  return new ThriceError({
    code: 'wrong-served-model',
    message: `expected an answer of "${model}", received one of "${servedModel ?? ''}"`,
  });
}

function describeError({ class: errorClass, code, message, details }: ThriceError): Probe['error'] {
  const status = details.status ?? null;
  return { class: errorClass, code, status, message, remedy: remedies[code] ?? null };
}

/** What to do about the errors of a call; `docs/errors.md` says more. */
const remedies: Readonly<Partial<Record<ThriceError['code'], string>>> = {
  'auth-failed': 'set the right key in the variable that api_key_env names',
  'unknown-model': 'correct model',
  'wrong-served-model':
    'request the model by the name it is served under, or set served_model = "warn" or "allow"',
  'endpoint-unreachable': 'correct base_url: it ends with the API version, as in /v1',
  'connection-failed': 'check base_url, the network, and that the server runs',
  'model-timeout': 'raise timeout_s, or check the server',
  'model-unavailable': 'try again later',
  'model-rate-limited': 'lower max_concurrency, or try again later',
  'quota-exhausted': 'wait for the reset or top up the account',
  'invalid-request': "correct the config's parameters or extra_body",
  'context-too-long': 'raise the context length of the server',
};
