import { readFile } from 'node:fs/promises';
import { cutList, describeIssues, describeJsonError, ThriceError } from '@thrice/core';
import type * as z from 'zod';

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
    describeIssues(result.error, schema, parsed.value).map((problem) => `${path}: ${problem}`),
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
        ...describeIssues(result.error, schema, parsed.value).map(
          (problem) => `${path}:${lineNumber}: ${problem}`,
        ),
      );
    }
  }
  if (problems.length > 0) throw invalidFile(problems);
  return rows;
}

/**
 * Builds the error for an unusable file.
 *
 * @param problems - One line per problem, at least one.
 */
export function invalidFile(problems: readonly string[], cause?: unknown): ThriceError {
  const shown = cutList(problems);
  return new ThriceError({
    code: 'invalid-file',
    message: shown.join('\n'),
    details: { problems: shown },
    cause,
  });
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw invalidFile([`${path}: ${describeUnreadable(error)}`], error);
  }
}

function describeUnreadable(error: unknown): string {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === 'ENOENT') return 'no such file; check the path';
  if (code === 'EISDIR') return 'expected a file, received a folder';
  return `cannot be read (${message ?? String(error)})`;
}

function parseJson(text: string): { value: unknown; problem?: undefined } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch (error) {
    return { problem: `expected JSON (${describeJsonError(error, text)})` };
  }
}
