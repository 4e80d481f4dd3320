import { ThriceError } from '@thrice/core';
import type * as z from 'zod';

/**
 * Parses what the database holds. It was written here, but the file may have been changed since.
 *
 * @param text - JSON.
 * @param what - What it is, for the error.
 * @throws {ThriceError} `invalid-file` for anything that this version has not written.
 */
export function readStored<T>(schema: z.ZodType<T>, text: unknown, what: string): T {
  return checkStored(schema, parseJson(String(text)), what);
}

/** Like {@link readStored}, for the columns of a row. */
export function checkStored<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const paths = error.issues.map(({ path }) => path.join('.')).slice(0, 3);
  throw new ThriceError({
    code: 'invalid-file',
    message: `thrice.db: expected ${what} as this version writes it, received invalid ${paths.filter((path) => path !== '').join(', ') || 'JSON'}; the file was changed or is damaged: use a copy of it, or another folder with --dir`,
    cause: error,
  });
}

/** Returns undefined for a text that is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
