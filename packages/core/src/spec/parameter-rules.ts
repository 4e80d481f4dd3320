import type { Lane, ModelParameters, Protocol } from '../domain/benchmark.ts';
import type { ReasoningEffort } from '../domain/benchmark-spec.ts';
import { type Vendor, vendorOfHost } from './vendors.ts';

/** What a model accepts of a parameter. */
export type ParameterRule = {
  /** Where the rule is written or was seen. */
  readonly source: string;
  /** Only for models whose name matches. @default all */
  readonly models?: RegExp;
  /** Only for these efforts of reasoning. @default any, also none given */
  readonly efforts?: readonly ReasoningEffort[];
} & ({ readonly vendor: Vendor } | { readonly protocol: Protocol }) &
  (
    | { readonly parameter: 'temperature' | 'topP'; readonly accepts: readonly number[] }
    | { readonly parameter: 'reasoningEffort'; readonly accepts: readonly ReasoningEffort[] }
    | { readonly parameter: 'seed' | 'stop'; readonly accepts: readonly [] }
  );

/** The parameters' names in a spec. */
const SPEC_NAMES = {
  temperature: 'temperature',
  topP: 'top_p',
  reasoningEffort: 'reasoning_effort',
  seed: 'seed',
  stop: 'stop',
} as const;

/**
 * Returns what cannot be said of a config's parameters, for all questions alike. Nothing is left out or changed
 * silently: an author who asked for `temperature = 0` must know that the model has another.
 *
 * What `extra_body` says is sent as it is.
 *
 * @returns Problems, each with its key in the spec in front.
 */
export function refusedParameters(
  rules: readonly ParameterRule[],
  lane: Pick<Lane, 'name' | 'protocol' | 'endpoints'>,
  model: string,
  parameters: ModelParameters,
): readonly string[] {
  // Behind a proxy or a stand-in, its own rules hold.
  const vendor = vendorOfHost(lane.endpoints[0]);
  return rules
    .filter((rule) => appliesTo(rule, { vendor, ...lane }, model, parameters))
    .filter(({ parameter, accepts }) => {
      const value = parameters[parameter];
      return value !== undefined && !accepts.some((accepted) => accepted === value);
    })
    .map(({ parameter, accepts, source }) => {
      const expected = accepts.length === 0 ? 'none' : accepts.join(' or ');
      const received = JSON.stringify(parameters[parameter]);
      return `${SPEC_NAMES[parameter]}: expected ${expected} for ${model} on lane "${lane.name}", which refuses others, received ${received} (${source})`;
    });
}

function appliesTo(
  rule: ParameterRule,
  lane: { readonly vendor: Vendor | undefined; readonly protocol: Protocol },
  model: string,
  { reasoningEffort }: ModelParameters,
): boolean {
  const isLane = 'vendor' in rule ? rule.vendor === lane.vendor : rule.protocol === lane.protocol;
  if (!isLane || rule.models?.test(model) === false) return false;
  if (rule.efforts === undefined) return true;
  return reasoningEffort !== undefined && rule.efforts.includes(reasoningEffort);
}
