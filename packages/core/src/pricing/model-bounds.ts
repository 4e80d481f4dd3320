/** The most that a call to a model can bring, as documented. */
interface ModelBound {
  /** Tokens of output, reasoning included, where a request names no maximum. */
  readonly outputTokens?: number;
  /** Tokens of an image, at the highest resolution that the model reads. */
  readonly imageTokens?: number;
}

// Read 2026-11, in stored copies of these pages.
// uipath: https://docs.uipath.com/autopilot/other/latest/user-guide/supported-models-and-limits.md
// effect: https://github.com/Effect-TS/effect/releases/tag/@effect%2Fai-anthropic@4.0.0-beta.106 (2026)
// tiles: https://a64.in/tools/openai-vision-cost-calculator.html and, for the bases and factors as billed,
//   https://community.openai.com/t/vision-more-than-one-way-to-send-a-request-undocumented-and-different-pricing-realized/1262691
//   At most 768 x 2048 pixels, which are 8 tiles; patches at most 1,536.
// claude: https://docs.anthropic.com/en/docs/vision (about 1,600 tokens) and
//   https://github.com/vercel-labs/agent-browser/discussions/2318 (4,784 from 4.7 on)

/** By model; the first one counts that a name is, or is a dated version of. */
const BOUNDS: readonly (readonly [model: string, bound: ModelBound])[] = [
  // uipath
  ['gpt-5', { outputTokens: 128_000 }],
  ['gpt-5.1', { outputTokens: 128_000 }],
  ['gpt-5.4', { outputTokens: 128_000 }],
  // uipath, tiles
  ['gpt-4o', { outputTokens: 16_384, imageTokens: 85 + 8 * 170 }],
  // tiles
  ['gpt-4o-mini', { imageTokens: 2_833 + 8 * 5_667 }],
  ['gpt-4.1', { imageTokens: 1_536 }],
  ['gpt-4.1-mini', { imageTokens: Math.ceil(1_536 * 1.62) }],
  ['gpt-4.1-nano', { imageTokens: Math.ceil(1_536 * 2.46) }],
  // effect, claude
  ['claude-opus-4-5', { outputTokens: 64_000, imageTokens: 1_600 }],
  ['claude-sonnet-4-5', { outputTokens: 64_000, imageTokens: 1_600 }],
  ['claude-haiku-4-5', { outputTokens: 64_000, imageTokens: 1_600 }],
  ['claude-opus-4-6', { outputTokens: 128_000, imageTokens: 1_600 }],
  ['claude-sonnet-4-6', { outputTokens: 128_000, imageTokens: 1_600 }],
  ['claude-opus-4-7', { outputTokens: 128_000, imageTokens: 4_784 }],
  ['claude-opus-4-8', { outputTokens: 128_000, imageTokens: 4_784 }],
  // uipath
  ['gemini-2.5-pro', { outputTokens: 65_536 }],
  ['gemini-2.5-flash', { outputTokens: 65_536 }],
];

/** Returns what is documented of a model, whatever prefix a router gives it; nothing if it is not known. */
export function modelBoundOf(model: string): ModelBound {
  const name = model.toLowerCase().split('/').at(-1) ?? '';
  const found = BOUNDS.find(
    ([known]) =>
      name === known || (name.startsWith(known) && /^-\d/.test(name.slice(known.length))),
  );
  return found?.[1] ?? {};
}
