import type { Config, Lane, ModelParameters, Protocol } from '../domain/benchmark.ts';
import type { ReasoningEffort } from '../domain/benchmark-spec.ts';
import { type Vendor, vendorOfHost } from './vendors.ts';

/** What a model accepts of a parameter. */
type Rule = {
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

const O_SERIES = /^o\d/;
const GPT_5 = /^gpt-5(?:-(?!chat)|$)/;
const GPT_5_1_ON = /^gpt-5\.\d/;
const REASONING: readonly ReasoningEffort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const CLAUDE_WITHOUT_SAMPLING = /^claude-(?:opus-4-[78]|(?:opus|sonnet|haiku|fable)-[5-9])/;
const KIMI_FIXED = /^kimi-k2\.[56]/;

const OPENAI_REASONING = 'https://developers.openai.com/api/docs/guides/latest-model (2026-11)';
const OPENAI_UNSUPPORTED = 'https://github.com/nextlevelbuilder/goclaw/issues/211 (2026-03-15)';
const CLAUDE_SAMPLING =
  'https://platform.claude.com/docs/en/about-claude/models/migration-guide; "temperature is deprecated for this model": https://github.com/Comfy-Org/ComfyUI/issues/13923 (2026-05-15)';
const KIMI_SAMPLING =
  'https://platform.kimi.ai/docs/guide/migrating-from-openai-to-kimi: 1.0 with thinking, 0.6 without; https://github.com/HKUDS/nanobot/pull/4967 (2026-07-17)';

/** What vendors refuse with status 400, for all questions alike, and what a protocol has no field for. */
const RULES: readonly Rule[] = [
  {
    vendor: 'openai',
    models: O_SERIES,
    parameter: 'temperature',
    accepts: [1],
    source: OPENAI_UNSUPPORTED,
  },
  {
    vendor: 'openai',
    models: O_SERIES,
    parameter: 'topP',
    accepts: [1],
    source: 'https://github.com/openai/openai-python/issues/2072 (2025-01-31)',
  },
  {
    vendor: 'openai',
    models: O_SERIES,
    parameter: 'reasoningEffort',
    accepts: ['low', 'medium', 'high'],
    source: 'https://github.com/enricoros/big-AGI/issues/940 (2025-12)',
  },
  {
    vendor: 'openai',
    models: GPT_5,
    parameter: 'temperature',
    accepts: [1],
    source: 'https://github.com/tmc/langchaingo/issues/1355 (2025-08-10)',
  },
  {
    vendor: 'openai',
    models: /^gpt-5\.1(?:-\d|$)/,
    parameter: 'reasoningEffort',
    accepts: ['none', 'low', 'medium', 'high'],
    source: 'https://github.com/anomalyco/opencode/issues/4451 (2025-11)',
  },
  {
    // Without an effort, it depends on the model's default.
    vendor: 'openai',
    models: GPT_5_1_ON,
    efforts: REASONING,
    parameter: 'temperature',
    accepts: [1],
    source: OPENAI_REASONING,
  },
  {
    vendor: 'openai',
    models: GPT_5_1_ON,
    efforts: REASONING,
    parameter: 'topP',
    accepts: [1],
    source: OPENAI_REASONING,
  },
  {
    vendor: 'anthropic',
    models: CLAUDE_WITHOUT_SAMPLING,
    parameter: 'temperature',
    accepts: [],
    source: CLAUDE_SAMPLING,
  },
  {
    vendor: 'anthropic',
    models: CLAUDE_WITHOUT_SAMPLING,
    parameter: 'topP',
    accepts: [],
    source: CLAUDE_SAMPLING,
  },
  {
    vendor: 'kimi',
    models: KIMI_FIXED,
    parameter: 'temperature',
    accepts: [1, 0.6],
    source: KIMI_SAMPLING,
  },
  {
    vendor: 'kimi',
    models: KIMI_FIXED,
    parameter: 'topP',
    accepts: [0.95],
    source: 'https://github.com/google-gemini/gemini-cli/pull/18977 (2026-02-13)',
  },
  {
    vendor: 'grok',
    models: /^grok-4\.20/,
    parameter: 'reasoningEffort',
    accepts: [],
    source: 'https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fxai@4.0.8 (2026-07-07)',
  },
  {
    vendor: 'grok',
    models: /^grok-4\.3/,
    parameter: 'reasoningEffort',
    accepts: ['none', 'low', 'medium', 'high'],
    source: 'https://github.com/clbrge/mohdel/releases/tag/v0.102.0 (2026-05-08)',
  },
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
 * @param ruledBy - `protocol`: what its requests have no field for, which is an error of the spec. `vendor`: what the
 *   model was seen to refuse, which is worth a warning: vendors change their minds without telling.
 * @returns Problems, each with its key in the spec in front.
 */
export function parameterProblems(
  lane: Pick<Lane, 'name' | 'protocol' | 'endpoints' | 'batch'>,
  model: string,
  parameters: ModelParameters & BackgroundParameters,
  ruledBy: 'protocol' | 'vendor',
): readonly string[] {
  const problems =
    ruledBy === 'protocol'
      ? [...backgroundProblems(lane, parameters), ...batchProblems(lane, parameters)]
      : [];
  if (problems.length > 0) return problems;
  // Behind a proxy or a stand-in, its own rules hold.
  const vendor = vendorOfHost(lane.endpoints[0]);
  return RULES.filter((rule) => ruledBy in rule)
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

function appliesTo(
  rule: Rule,
  lane: { readonly vendor: Vendor | undefined; readonly protocol: Protocol },
  model: string,
  { reasoningEffort }: ModelParameters,
): boolean {
  const isLane = 'vendor' in rule ? rule.vendor === lane.vendor : rule.protocol === lane.protocol;
  if (!isLane || rule.models?.test(model) === false) return false;
  if (rule.efforts === undefined) return true;
  return reasoningEffort !== undefined && rule.efforts.includes(reasoningEffort);
}
