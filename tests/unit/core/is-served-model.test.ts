import { isServedModel } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const endpoint = 'https://api.example.com/v1';

/** A requested and a served name, and where the vendor documents the one as the other. */
type Pair = readonly [requested: string, served: string | null, source: string];

const openaiModels = 'npm openai 7.55.0, resources/shared.d.ts: ChatModel';
const claudeModels = 'https://docs.claude.com/en/docs/about-claude/models/overview';
const geminiModels =
  'https://ai.google.dev/gemini-api/docs/models/gemini-2.0-flash (version patterns, 2026-02-18)';
const grokModels = 'https://docs.x.ai/developers/models (aliases)';
const openrouterVariants = 'https://openrouter.ai/docs/guides/routing/model-variants/overview.md';
const ollamaNames = 'https://docs.ollama.com/api (model names; the tag defaults to latest)';
const llamaServer = 'github.com/ggml-org/llama.cpp, tools/server: a path or file without --alias';
const ggufNames = 'github.com/ggml-org/ggml, docs/gguf.md: naming convention';
const fireworks = 'https://docs.fireworks.ai: models are accounts/fireworks/models/NAME';
const azureIds = 'https://github.com/openai/openai-python/issues/1313 (2024-04-13)';

const samePairs: readonly Pair[] = [
  // Dated and numbered versions of an alias.
  ['gpt-4o', 'gpt-4o-2024-08-06', openaiModels],
  ['gpt-4', 'gpt-4-0613', openaiModels],
  ['gpt-5.2', 'gpt-5.2-2025-12-11', openaiModels],
  ['gpt-5.4-mini', 'gpt-5.4-mini-2026-03-17', openaiModels],
  ['o3-mini', 'o3-mini-2025-01-31', openaiModels],
  ['gpt-5.2-2025-12-11', 'gpt-5.2', azureIds],
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929', claudeModels],
  ['claude-opus-4-0', 'claude-opus-4-20250514', claudeModels],
  ['claude-sonnet-4-0', 'claude-sonnet-4-20250514', claudeModels],
  ['claude-3-7-sonnet-latest', 'claude-3-7-sonnet-20250219', claudeModels],
  ['claude-3-5-sonnet', 'claude-3-5-sonnet@20240620', 'https://docs.claude.com (Vertex AI names)'],
  ['gemini-2.0-flash', 'gemini-2.0-flash-001', geminiModels],
  ['gemini-flash-latest', 'gemini-2.5-flash-preview-09-2025', geminiModels],
  ['gemini-pro-latest', 'gemini-3.1-pro-preview', geminiModels],
  ['mistral-large-latest', 'mistral-large-2411', 'https://docs.mistral.ai/getting-started/models'],
  ['grok-4', 'grok-4-0709', grokModels],
  ['grok-4.20', 'grok-4.20-0309-reasoning', grokModels],
  ['grok-4-latest', 'grok-4-0709', grokModels],
  ['grok-4.6-latest', 'grok-4.6', grokModels],
  ['kimi-k2', 'kimi-k2-0711-preview', 'https://platform.moonshot.ai/docs'],
  ['some-model', 'some-model-v2', 'a version of its own'],
  // Prefixes of owners and routers.
  ['gemini-2.5-flash', 'models/gemini-2.5-flash', geminiModels],
  ['models/gemini-2.5-flash', 'gemini-2.5-flash', geminiModels],
  ['openai/gpt-4o', 'gpt-4o-2024-08-06', openrouterVariants],
  ['meta-llama/Llama-3.3-70B', 'llama-3.3-70b', 'names of owners and case differ among servers'],
  ['accounts/fireworks/models/gpt-oss-120b', 'gpt-oss-120b', fireworks],
  ['gpt-oss-120b', 'accounts/fireworks/models/gpt-oss-120b', fireworks],
  // Routing suffixes, and the order of words of a router's dated names.
  ['openai/gpt-5.2:nitro', 'openai/gpt-5.2', openrouterVariants],
  ['meta-llama/llama-3.2-3b-instruct:free', 'meta-llama/llama-3.2-3b-instruct', openrouterVariants],
  ['openai/gpt-5.2:floor', 'openai/gpt-5.2-2025-12-11', openrouterVariants],
  [
    'anthropic/claude-sonnet-4.5',
    'anthropic/claude-4.5-sonnet-20250929',
    'https://openrouter.ai/api/v1/models: canonical_slug',
  ],
  // Tags and files of local servers.
  ['llama3.2', 'llama3.2:latest', ollamaNames],
  ['llama3.2:latest', 'llama3.2', ollamaNames],
  ['gpt-oss:20b', 'gpt-oss:20b', ollamaNames],
  ['Llama-3.2-1B-Instruct', '/models/Llama-3.2-1B-Instruct-Q4_K_M.gguf', llamaServer],
  ['meta-llama-3-8b-instruct', 'Meta-Llama-3-8B-Instruct.Q4_0.gguf', llamaServer],
  ['qwen3-32b', 'C:\\models\\Qwen3-32B-IQ4_XS.gguf', llamaServer],
  ['Grok-1-100B', 'Grok-1-100B-Q4_0-00003-of-00009.gguf', ggufNames],
  ['tiny', 'tiny-f16.gguf', ggufNames],
  // Nothing to compare with.
  ['anything', null, 'no name'],
  ['anything', '', 'no name'],
];

const otherPairs: readonly Pair[] = [
  ['gpt-5', 'gpt-5-mini', openaiModels],
  ['gpt-5-mini', 'gpt-5', openaiModels],
  ['gpt-5', 'gpt-5.2', openaiModels],
  ['gpt-4', 'gpt-4-32k', openaiModels],
  ['gpt-4', 'gpt-4o-2024-08-06', openaiModels],
  ['gpt-4o-2024-05-13', 'gpt-4o-2024-08-06', openaiModels],
  ['gpt-4o', 'gpt-4o-mini-2024-07-18', openaiModels],
  ['claude-sonnet-4', 'claude-sonnet-4-5-20250929', claudeModels],
  ['claude-sonnet-4-5-20250929', 'claude-4.5-sonnet-20251001', 'another date'],
  ['claude-sonnet-4.5', 'claude-5.4-sonnet', 'another version'],
  ['claude-opus-4', 'claude-opus-4-1', claudeModels],
  ['gemini-flash-latest', 'gemini-2.5-flash-lite', geminiModels],
  ['gemini-flash', 'gemini-2.5-flash', 'only -latest moves to another release'],
  ['llama-3', 'llama-3-70b', 'another size'],
  ['llama-3.1', 'llama-3.1-405b', 'another size'],
  ['llama3.2:1b', 'llama3.2:3b', ollamaNames],
  ['llama3.2', 'llama3.2:1b', ollamaNames],
  ['qwen3', 'qwen3-32b', 'another size'],
  ['llama-3.2-1b-instruct', 'Llama-3.2-3B-Instruct-Q4_K_M.gguf', llamaServer],
  ['model-a', 'model-b', 'another name'],
  ['gpt-5', 'unknown', 'another name'],
];

describe('an answer', () => {
  it.each(samePairs)('to a request for %s may come from %j (%s)', (requested, served) => {
    expect(isServedModel({ requested, served, endpoint })).toBe(true);
  });

  it.each(otherPairs)('to a request for %s does not come from %s (%s)', (requested, served) => {
    expect(isServedModel({ requested, served, endpoint })).toBe(false);
  });

  // https://github.com/openai/openai-python/issues/447 (2023-05-11): the name of a deployment is its user's.
  it.each([
    'https://lab.openai.azure.com/openai/v1',
    'https://lab.cognitiveservices.azure.com/openai/v1',
    'https://LAB.services.ai.azure.us:443/models',
  ])('of a deployment at %s may come from any model', (azure) => {
    const answer = { requested: 'my-judge', served: 'gpt-4o-2024-08-06', endpoint: azure };

    expect(isServedModel(answer)).toBe(true);
  });

  it('of a server whose name only resembles that of Azure is compared', () => {
    const answer = {
      requested: 'my-judge',
      served: 'gpt-4o',
      endpoint: 'https://azure.com.net/v1',
    };

    expect(isServedModel(answer)).toBe(false);
  });

  it('may come from the model itself, whatever its owner and case, and from a dated version', () => {
    const names = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}[a-z0-9]$/);
    const owners = fc.constantFrom('', 'owner/', 'a/b/');

    fc.assert(
      fc.property(names, owners, owners, (name, asked, owner) => {
        const requested = asked + name;
        const loud = { requested, served: owner + name.toUpperCase(), endpoint };
        const dated = { requested, served: `${owner}${name}-20260101`, endpoint };
        expect([isServedModel(loud), isServedModel(dated)]).toEqual([true, true]);
      }),
    );
  });

  it.each(['-1', '-a', ':latest', '.gguf', '/'])(
    'with a hostile name of %s is compared fast',
    (part) => {
      const served = part.repeat(300_000);

      expect(isServedModel({ requested: 'm', served, endpoint })).toBe(false);
    },
  );
});
