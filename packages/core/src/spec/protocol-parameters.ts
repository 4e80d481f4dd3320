import type { Config, Lane, ModelParameters } from '../domain/benchmark.ts';
import { type ParameterRule, refusedParameters } from './parameter-rules.ts';

/** What a protocol has no field for. */
const RULES: readonly ParameterRule[] = [
  {
    protocol: 'anthropic',
    parameter: 'reasoningEffort',
    accepts: ['low', 'medium', 'high', 'xhigh', 'max'],
    source: '`OutputConfig` in the types of `@anthropic-ai/sdk` 1.12.0 (2026-11-20)',
  },
  {
    protocol: 'anthropic',
    parameter: 'seed',
    accepts: [],
    source: '`MessageCreateParams` in the types of `@anthropic-ai/sdk` 1.12.0 (2026-11-20)',
  },
  {
    protocol: 'responses',
    parameter: 'seed',
    accepts: [],
    source: '`ResponseCreateParams` in the types of the `openai` package 7.55.0',
  },
  {
    protocol: 'responses',
    parameter: 'stop',
    accepts: [],
    source: '`ResponseCreateParams` in the types of the `openai` package 7.55.0',
  },
];

/**
 * Returns what the requests of a lane's protocol cannot say of a config's parameters, which is an error of the spec.
 *
 * @returns Problems, each with its key in the spec in front.
 */
export function protocolProblems(
  lane: Pick<Lane, 'name' | 'protocol' | 'endpoints' | 'batch'>,
  model: string,
  parameters: ModelParameters & BackgroundParameters,
): readonly string[] {
  const problems = [...backgroundProblems(lane, parameters), ...batchProblems(lane, parameters)];
  return problems.length > 0 ? problems : refusedParameters(RULES, lane, model, parameters);
}

type BackgroundParameters = Pick<Config, 'extraBody' | 'isBackground' | 'isStreamed'>;

function backgroundProblems(
  { name, protocol }: Pick<Lane, 'name' | 'protocol'>,
  { extraBody = {}, isBackground, isStreamed }: BackgroundParameters,
): readonly string[] {
  if (!isBackground) {
    // The answer would be one that has not ended, paid for again with each attempt.
    const isAsked = protocol === 'responses' && extraBody['background'] === true;
    return isAsked ? ['extra_body.background: expected background = true beside it instead'] : [];
  }
  if (protocol !== 'responses') {
    return [
      `background: expected a lane with protocol = "responses", the only one with a background mode, received lane "${name}" with "${protocol}"`,
    ];
  }
  return [
    ...(isStreamed
      ? ['stream: expected none with background = true, which polls, received true']
      : []),
    ...['background', 'store']
      .filter((field) => extraBody[field] !== undefined && extraBody[field] !== true)
      .map(
        (field) => `extra_body.${field}: expected none with background = true, which needs true`,
      ),
  ];
}

/** What a call in a batch cannot be. */
function batchProblems(
  { name, batch }: Pick<Lane, 'name' | 'batch'>,
  { isBackground, isStreamed, serviceTier }: BackgroundParameters & Pick<Config, 'serviceTier'>,
): readonly string[] {
  if (batch === undefined) return [];
  const given = {
    background: isBackground,
    stream: isStreamed,
    service_tier: serviceTier ?? false,
  };
  return Object.entries(given)
    .filter(([, value]) => value !== false)
    .map(
      ([key, value]) =>
        `${key}: expected none on lane "${name}", whose calls go through batches, received ${JSON.stringify(value)}`,
    );
}
