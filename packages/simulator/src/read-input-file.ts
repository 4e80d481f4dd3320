import { readFile } from 'node:fs/promises';
import { ThriceError } from '@thrice/core';
import type * as z from 'zod';

const problemsShown = 20;

/** A value of a JSONL file with its line number. */
export interface JsonLine<Value> {
  /** 1-based. */
  readonly lineNumber: number;
  readonly value: Value;
}

/**
 * Reads a JSON file and validates it.
 *
 * @throws {ThriceError} `invalid-file` naming file, key path, expected and received.
 */
export async function readJsonFile<Value>(path: string, schema: z.ZodType<Value>): Promise<Value> {
  const text = await readText(path);
  const parsed = parseJson(text);
  if (parsed.problem !== undefined) throw invalidFile([`${path}: ${parsed.problem}`]);
  const result = schema.safeParse(parsed.value);
  if (result.success) return result.data;
  throw invalidFile(
    result.error.issues.map((issue) => `${path}: ${describeIssue(issue, parsed.value)}`),
  );
}

/**
 * Reads a JSONL file and validates every row. Blank lines are skipped.
 *
 * @throws {ThriceError} `invalid-file` naming file, line, key path, expected and received.
 */
export async function readJsonLines<Value>(
  path: string,
  schema: z.ZodType<Value>,
): Promise<JsonLine<Value>[]> {
  const text = await readText(path);
  const rows: JsonLine<Value>[] = [];
  const problems: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const lineNumber = index + 1;
    const parsed = parseJson(line);
    if (parsed.problem !== undefined) {
      problems.push(`${path}:${lineNumber}: ${parsed.problem}`);
      continue;
    }
    const result = schema.safeParse(parsed.value);
    if (result.success) rows.push({ lineNumber, value: result.data });
    else {
      problems.push(
        ...result.error.issues.map(
          (issue) => `${path}:${lineNumber}: ${describeIssue(issue, parsed.value)}`,
        ),
      );
    }
  }
  if (problems.length > 0) throw invalidFile(problems);
  return rows;
}

/**
 * Builds the error for an unusable file: the first problem is the message, all are in the details.
 *
 * @param problems - One line per problem, at least one.
 */
export function invalidFile(problems: readonly string[], cause?: unknown): ThriceError {
  const shown = problems.slice(0, problemsShown);
  const hiddenCount = problems.length - shown.length;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return new ThriceError({
    code: 'invalid-file',
    message: `${shown[0] ?? 'unknown problem'}${more}`,
    details: { problems: hiddenCount > 0 ? [...shown, `... ${hiddenCount} more`] : shown },
    cause,
  });
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw invalidFile([`${path}: cannot be read: ${describeThrown(error)}`], error);
  }
}

function parseJson(text: string): { value: unknown; problem?: undefined } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch (error) {
    return { problem: `expected JSON, received ${preview(text)} (${describeThrown(error)})` };
  }
}

function describeThrown(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** For example: `faults[0].rate: Too big: expected number to be <=1, received 2`. */
function describeIssue(issue: z.core.$ZodIssue, root: unknown): string {
  const place = issue.path.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`;
    return path === '' ? String(key) : `${path}.${String(key)}`;
  }, '');
  // Zod ends a type error with ", received string"; the value itself is more helpful.
  const expected = issue.message.replace(/, received .*$/s, '');
  const received =
    issue.code === 'unrecognized_keys' ? '' : `, received ${previewValue(issue.path, root)}`;
  return `${place === '' ? '' : `${place}: `}${expected}${received}`;
}

function previewValue(path: readonly PropertyKey[], root: unknown): string {
  const value = path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null
        ? (parent as Record<PropertyKey, unknown>)[key]
        : undefined,
    root,
  );
  return value === undefined ? 'nothing' : preview(JSON.stringify(value));
}

function preview(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
