import * as z from 'zod';

// Schemas of what a spec says, and is stored and shown: none of it may hold a key.

/** A model server's base URL. It is stored and shown, so it must not contain a key. */
export const baseUrlSchema = z
  .url({
    protocol: /^https?$/,
    error: 'expected an http or https URL, as in http://127.0.0.1:8000/v1',
    abort: true,
  })
  .refine((url) => !/\/\/[^/]*@/.test(url) && !hasCredentialParameter(url), {
    error: "expected a URL without user or key; name the key's variable in api_key_env",
  });

/** The names that vendors and gateways give to keys in addresses and bodies. */
const CREDENTIAL =
  /^(x-)?(api[-_]?key|key|authorization|(access|auth|bearer)[-_]?token|token|secret|password)$/i;

function hasCredentialParameter(url: string): boolean {
  return [...(URL.parse(url)?.searchParams.keys() ?? [])].some((name) => CREDENTIAL.test(name));
}

/** Added to the body of each request; it is stored and shown, so it must not contain a key. */
export const extraBodySchema = z
  .record(z.string(), z.unknown())
  .refine((body) => !hasCredential(body), {
    error: "expected parameters without a key; name the key's variable in api_key_env",
  });

function hasCredential(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([name, inner]) => (typeof inner === 'string' && CREDENTIAL.test(name)) || hasCredential(inner),
  );
}

/** The name of an environment variable; a value that looks like a key, or is a URL, is rejected. */
export function variableSchema(example: string, secret: string) {
  return z.string().refine((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !looksLikeKey(name), {
    error: `expected the name of an environment variable, as in ${example}, never ${secret}`,
  });
}

/** Some vendors' keys are valid variable names, but long, with digits among lower-case letters. */
function looksLikeKey(text: string): boolean {
  return text.length >= 20 && /[a-z]/.test(text) && /\d/.test(text);
}
