import { builtinLanes } from './builtin-lanes.ts';

/** The vendors whose differences are known; any other speaks a protocol as it is described. */
export type Vendor = 'openai' | 'anthropic' | 'gemini' | 'kimi' | 'deepseek' | 'grok' | 'mistral';

/** The hosts of the vendors' APIs, as their documentation names them; see `builtinLanes`. */
const HOSTS: readonly { readonly host: RegExp; readonly vendor: Vendor }[] = [
  { host: /^api\.openai\.com$/, vendor: 'openai' },
  // https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle (2026-11)
  { host: /\.openai\.azure\.com$/, vendor: 'openai' },
  { host: /^api\.anthropic\.com$/, vendor: 'anthropic' },
  { host: /^generativelanguage\.googleapis\.com$/, vendor: 'gemini' },
  // https://platform.kimi.ai/docs (2026-11): one host for each region.
  { host: /^api\.moonshot\.(ai|cn)$/, vendor: 'kimi' },
  { host: /^api\.deepseek\.com$/, vendor: 'deepseek' },
  { host: /^api\.x\.ai$/, vendor: 'grok' },
  { host: /^api\.mistral\.ai$/, vendor: 'mistral' },
];

/** Returns the vendor that an endpoint belongs to. */
export function vendorOfHost(endpoint: string | undefined): Vendor | undefined {
  const host = hostOf(endpoint);
  return HOSTS.find((known) => known.host.test(host))?.vendor;
}

function hostOf(endpoint: string | undefined): string {
  return /^https?:\/\/([^/:?#]+)/i.exec(endpoint ?? '')?.[1]?.toLowerCase() ?? '';
}

/**
 * Returns the built-in lane whose models a lane serves at the built-in prices: the lane of that name, unless it is
 * pointed at a vendor that has other prices, such as another region's, or any lane with the address of a built-in one.
 */
export function builtinLaneOf({
  name,
  endpoints,
}: {
  readonly name: string;
  readonly endpoints: readonly string[];
}): string | undefined {
  const host = hostOf(endpoints[0]);
  const byHost = Object.entries(builtinLanes).find(([, { baseUrl }]) => hostOf(baseUrl) === host);
  if (byHost !== undefined) return byHost[0];
  const isOfVendor = HOSTS.some((known) => known.host.test(host));
  return Object.hasOwn(builtinLanes, name) && !isOfVendor ? name : undefined;
}

/**
 * Returns the vendor that a lane speaks like: the one that its endpoints belong to, or else, behind a proxy, the one
 * that it is named after.
 */
export function vendorOf({
  name,
  endpoints,
}: {
  readonly name: string;
  readonly endpoints: readonly string[];
}): Vendor | undefined {
  const byHost = vendorOfHost(endpoints[0]);
  return byHost ?? HOSTS.find(({ vendor }) => vendor === name)?.vendor;
}
