import type { Lane, ModelParameters } from '../domain/benchmark.ts';
import type { ReasoningEffort } from '../domain/benchmark-spec.ts';
import { type ParameterRule, refusedParameters } from './parameter-rules.ts';

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

/** What vendors refuse with status 400, for all questions alike. */
const RULES: readonly ParameterRule[] = [
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
];

/**
 * Returns which of a config's parameters its model was seen to refuse, which is worth a warning: vendors change their minds
 * without telling.
 *
 * @returns Problems, each with its key in the spec in front.
 */
export function vendorProblems(
  lane: Pick<Lane, 'name' | 'protocol' | 'endpoints'>,
  model: string,
  parameters: ModelParameters,
): readonly string[] {
  return refusedParameters(RULES, lane, model, parameters);
}
