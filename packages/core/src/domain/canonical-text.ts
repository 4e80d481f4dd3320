/** Returns JSON text that does not depend on the order of keys; nothing is as null. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(inKeyOrder(value ?? null));
}

function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (typeof value !== 'object' || value === null) return value;
  // A date in the TOML of a spec.
  if ('toJSON' in value && typeof value.toJSON === 'function') return value.toJSON();
  const fields: Readonly<Record<string, unknown>> = { ...value };
  const keys = Object.keys(fields).sort();
  return Object.fromEntries(keys.map((key) => [key, inKeyOrder(fields[key])]));
}
