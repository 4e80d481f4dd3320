/** The settings of a provider's lane, used unless the spec overrides them. */
export interface BuiltinLane {
  readonly baseUrl: string;
  readonly apiKeyEnv: string;
  /** Where its key may be sent besides the origin of `baseUrl`: the vendor's other regions. */
  readonly otherOrigins?: readonly string[];
  readonly maxTokensField?: 'max_completion_tokens';
  /** @default 'chat' */
  readonly protocol?: 'anthropic';
}

/**
 * The providers' endpoints, as their documentation gives them: OpenAI-compatible ones, except Anthropic's, whose
 * compatible endpoint is documented as no "production-ready solution".
 *
 * @see https://platform.openai.com/docs/api-reference (newer models reject `max_tokens`)
 * @see https://docs.anthropic.com/en/api/openai-sdk
 * @see https://ai.google.dev/gemini-api/docs/openai
 * @see https://platform.moonshot.ai/docs https://api-docs.deepseek.com https://docs.x.ai
 *   https://docs.mistral.ai
 */
export const builtinLanes: Readonly<Record<string, BuiltinLane>> = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    apiKeyEnv: 'OPENAI_API_KEY',
    maxTokensField: 'max_completion_tokens',
  },
  anthropic: {
    baseUrl: 'https://api.anthropic.com/v1',
    apiKeyEnv: 'ANTHROPIC_API_KEY',
    protocol: 'anthropic',
  },
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    apiKeyEnv: 'GEMINI_API_KEY',
  },
  kimi: {
    baseUrl: 'https://api.moonshot.ai/v1',
    apiKeyEnv: 'KIMI_API_KEY',
    otherOrigins: ['https://api.moonshot.cn'],
  },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', apiKeyEnv: 'DEEPSEEK_API_KEY' },
  grok: { baseUrl: 'https://api.x.ai/v1', apiKeyEnv: 'GROK_API_KEY' },
  mistral: { baseUrl: 'https://api.mistral.ai/v1', apiKeyEnv: 'MISTRAL_API_KEY' },
};

/** The lane of the bundled simulator, which a command starts when it needs it. */
export const SIMULATOR_LANE = 'sim';

/** The origins of the vendor whose key a variable holds; undefined for a variable that no built-in lane names. */
export function vendorOrigins(variable: string | undefined): readonly string[] | undefined {
  const lane = Object.values(builtinLanes).find(({ apiKeyEnv }) => apiKeyEnv === variable);
  return lane && [new URL(lane.baseUrl).origin, ...(lane.otherOrigins ?? [])];
}

/** The key of a lane in a stage, and where it may be sent. The stack says both; no spec can. */
export interface LaneKey {
  /** The variable that specs name for it. */
  readonly variable: string;
  /** Scheme, host and port, as in `https://lab.example.org:8443`. */
  readonly origins: readonly string[];
}

/**
 * Binds the key of a lane in a stage to where it may be sent; undefined for a lane without a key.
 *
 * @param lane.origins - The vendor's, if they are left out for a vendor's key.
 * @throws Error for a key that is bound to nothing, or that would leave its vendor.
 */
export function bindKey({
  name,
  apiKeyEnv,
  origins,
}: {
  readonly name: string;
  readonly apiKeyEnv?: string;
  readonly origins?: readonly string[];
}): LaneKey | undefined {
  if (apiKeyEnv === undefined) return undefined;
  const vendors = vendorOrigins(apiKeyEnv);
  const bound = origins ?? vendors ?? [];
  const isOrigin = (text: string) => URL.parse(text)?.origin === text;
  const isPossible = bound.every((origin) => vendors?.includes(origin) ?? isOrigin(origin));
  if (bound.length > 0 && isPossible) return { variable: apiKeyEnv, origins: bound };
  const expected = vendors?.join(', ') ?? 'as in https://lab.example.org:8443';
  throw new Error(
    `lane ${name}: expected the origins that ${apiKeyEnv} may be sent to, ${expected}, received ${bound.join(', ') || 'none'}`,
  );
}
