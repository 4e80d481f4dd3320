import { isRecord } from './json-value.ts';

/**
 * Merges a config's `extra_body` into the body of a request, last. Where both have an object, its fields are merged:
 * a config that asks for a summary of the reasoning still has its effort.
 */
export function mergeBody(
  body: Readonly<Record<string, unknown>>,
  extraBody: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const merged = Object.entries(extraBody).map(([name, value]) => {
    const own = Object.hasOwn(body, name) ? body[name] : undefined;
    return [name, isRecord(own) && isRecord(value) ? { ...own, ...value } : value];
  });
  return { ...body, ...Object.fromEntries(merged) };
}
