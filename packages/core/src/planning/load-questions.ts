import type { BenchmarkSpec } from '../domain/benchmark-spec.ts';
import type { Question } from '../domain/question.ts';
import { ThriceError } from '../errors.ts';
import type { SourceReader } from '../ports/source-reader.ts';
import { bbhFiles, loadBbh } from './datasets/bbh.ts';
import { showValue } from './describe-issues.ts';
import { parseQuestionRow } from './parse-question-row.ts';

/** Problems shown before a broken file is given up. */
const MAX_PROBLEMS = 20;

/** Where questions come from: files in the order given, or a dataset's folder. */
export interface QuestionSource {
  /** The files that are read, for digests. */
  files(): Promise<readonly string[]>;
  /**
   * The questions in file order, streamed; may be called again for another pass.
   *
   * @throws {ThriceError} `invalid-question` naming file and line of up to 20 problems.
   */
  read(): AsyncIterable<Question>;
}

/**
 * Opens the questions a spec names.
 *
 * @param resolvePath - Makes a path of the spec absolute.
 */
export function openQuestions(
  questions: BenchmarkSpec['questions'],
  resolvePath: (path: string) => string,
  reader: SourceReader,
): QuestionSource {
  if (typeof questions === 'object' && 'dataset' in questions) {
    const folder = resolvePath(questions.path);
    return {
      files: () => bbhFiles(folder, reader),
      read: () => loadBbh(folder, reader),
    };
  }
  const paths = (typeof questions === 'string' ? [questions] : questions).map(resolvePath);
  return {
    files: async () => paths,
    read: () => loadQuestions(paths, reader),
  };
}

/**
 * Reads question files: JSONL, or a JSON array.
 *
 * @throws {ThriceError} `invalid-question` with file and line: invalid JSON, a bad field, an id given
 *   twice, no question at all.
 */
export async function* loadQuestions(
  paths: readonly string[],
  reader: SourceReader,
): AsyncIterable<Question> {
  const problems: string[] = [];
  const seen = new Map<string, string>();
  for (const path of paths) {
    for await (const { row, where } of readRows(path, reader, problems)) {
      const parsed = parseQuestionRow(row);
      if (parsed.question === undefined) {
        problems.push(...parsed.problems.map((problem) => `${where}: ${problem}`));
      } else {
        const earlier = seen.get(parsed.question.id);
        if (earlier !== undefined) {
          problems.push(`${where}: id: "${parsed.question.id}" is the id of ${earlier} already`);
        } else {
          seen.set(parsed.question.id, where);
          if (problems.length === 0) yield parsed.question;
        }
      }
      if (problems.length >= MAX_PROBLEMS) throw invalidQuestions(problems);
    }
  }
  if (problems.length > 0) throw invalidQuestions(problems);
  if (seen.size === 0) {
    throw invalidQuestions([`${paths.join(', ')}: expected at least one question, received none`]);
  }
}

function invalidQuestions(problems: readonly string[]): ThriceError {
  return new ThriceError({
    code: 'invalid-question',
    message: problems.join('\n'),
    details: { problems },
  });
}

interface Row {
  readonly row: unknown;
  readonly where: string;
}

async function* readRows(
  path: string,
  reader: SourceReader,
  problems: string[],
): AsyncIterable<Row> {
  let lineNumber = 0;
  for await (const line of reader.readLines(path)) {
    lineNumber += 1;
    const text = lineNumber === 1 ? line.replace(/^\uFEFF/, '') : line;
    if (lineNumber === 1 && text.trimStart().startsWith('[')) {
      yield* readArray(path, reader);
      return;
    }
    if (text.trim() === '') continue;
    const where = `${path}:${lineNumber}`;
    const row = parseJson(text);
    if (row.error === undefined) yield { row: row.value, where };
    else problems.push(`${where}: expected JSON (${row.error}), received ${showValue(text)}`);
  }
}

async function* readArray(path: string, reader: SourceReader): AsyncIterable<Row> {
  const parsed = parseJson((await reader.readText(path)).replace(/^\uFEFF/, ''));
  if (parsed.error !== undefined) {
    throw invalidQuestions([`${path}: expected a JSON array (${parsed.error})`]);
  }
  for (const [index, row] of (parsed.value as unknown[]).entries()) {
    yield { row, where: `${path}[${index}]` };
  }
}

function parseJson(text: string): { readonly value?: unknown; readonly error?: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
