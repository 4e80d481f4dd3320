import { type Lane, type Vendor, vendorOf } from '@thrice/core';

/** How a vendor's chat completions name what others name alike. */
interface WireNames {
  readonly seed: string;
  /** Whether a stream takes `stream_options`, which ask for its usage. */
  readonly takesStreamOptions: boolean;
}

const USUAL: WireNames = { seed: 'seed', takesStreamOptions: true };

const NAMES: Readonly<Partial<Record<Vendor, WireNames>>> = {
  // https://docs.mistral.ai/api (`random_seed`); "Mistral doesn't support stream_options", and reports the usage of
  // a stream without: https://github.com/posit-dev/chatlas/pull/145 (2025-08-14).
  mistral: { seed: 'random_seed', takesStreamOptions: false },
};

/** Returns the names of a lane's vendor; its field for the limit of tokens is the lane's `maxTokensField`. */
export function wireNamesOf(lane: Lane): WireNames {
  const vendor = vendorOf(lane);
  return (vendor === undefined ? undefined : NAMES[vendor]) ?? USUAL;
}
