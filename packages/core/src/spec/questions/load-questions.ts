import type { BenchmarkSpec } from '../../domain/benchmark-spec.ts';
import type { Question } from '../../domain/question.ts';
import { ThriceError } from '../../errors.ts';
import type { SourceReader } from '../../ports/source-reader.ts';
import type { Dataset, DatasetRegistry } from '../datasets/dataset.ts';
import { datasetRegistry } from '../datasets/registry.ts';
import { showValue } from '../describe-issues.ts';
import { describeJsonError } from '../describe-json-error.ts';
import { type ParsedRow, parseQuestionRow } from './parse-question-row.ts';

/** Reading stops after this many problems. */
const MAX_PROBLEMS = 20;

/** The source of a benchmark's questions: files in the order given, or the folder of a dataset. */
export interface QuestionSource {
  /** Lists the files that are read, for their digests. */
  files(): Promise<readonly string[]>;
  /**
   * Streams the questions in file order. Each call starts another pass.
   *
   * @throws {ThriceError} `invalid-question` with file and line of up to 20 problems.
   */
  read(): AsyncIterable<Question>;
}

/**
 * Opens the questions that a spec names.
 *
 * @param resolvePath - Makes a path of the spec absolute.
 * @throws {ThriceError} `unknown-dataset` for a dataset that is not in `datasets`.
 */
export function openQuestions(
  questions: BenchmarkSpec['questions'],
  resolvePath: (path: string) => string,
  reader: SourceReader,
  datasets: DatasetRegistry = datasetRegistry,
): QuestionSource {
  if (typeof questions === 'object' && 'dataset' in questions) {
    const dataset = findDataset(questions.dataset, datasets);
    const folder = resolvePath(questions.path);
    return {
      files: () => dataset.files(folder, reader),
      read: () => dataset.load(folder, reader),
    };
  }
  const paths = (typeof questions === 'string' ? [questions] : questions).map(resolvePath);
  return {
    files: async () => paths,
    read: () => loadQuestions(paths, reader),
  };
}

function findDataset(name: string, datasets: DatasetRegistry): Dataset {
  const dataset = datasets.get(name);
  if (dataset !== undefined) return dataset;
  throw new ThriceError({
    code: 'unknown-dataset',
    message: `unknown dataset "${name}" (expected ${[...datasets.keys()].join(', ')})`,
  });
}

/**
 * Reads question files, each either JSONL or a JSON array.
 *
 * @throws {ThriceError} `invalid-question` with file and line for invalid JSON, a bad field, a
 *   repeated id, or no questions at all.
 */
export async function* loadQuestions(
  paths: readonly string[],
  reader: SourceReader,
): AsyncIterable<Question> {
  const problems: string[] = [];
  const seen = new Map<string, string>();
  for await (const { row, where } of readRows(paths, reader)) {
    const rowProblems = row.problems ?? duplicateIdProblems(row.question, where, seen);
    problems.push(...rowProblems.map((problem) => `${where}: ${problem}`));
    if (problems.length >= MAX_PROBLEMS) break;
    if (row.question !== undefined && problems.length === 0) yield row.question;
  }
  if (problems.length === 0 && seen.size === 0) {
    problems.push(`${paths.join(', ')}: expected at least one question, received none`);
  }
  if (problems.length > 0) throw invalidQuestions(problems.slice(0, MAX_PROBLEMS));
}

/** Records where an id was first seen; seeing it again is a problem. */
function duplicateIdProblems(
  { id }: Question,
  where: string,
  seen: Map<string, string>,
): readonly string[] {
  const earlier = seen.get(id);
  if (earlier !== undefined) return [`id: "${id}" is the id of ${earlier} already`];
  seen.set(id, where);
  return [];
}

function invalidQuestions(problems: readonly string[]): ThriceError {
  return new ThriceError({
    code: 'invalid-question',
    message: problems.join('\n'),
    details: { problems },
  });
}

interface Row {
  readonly row: ParsedRow;
  readonly where: string;
}

async function* readRows(paths: readonly string[], reader: SourceReader): AsyncIterable<Row> {
  for (const path of paths) yield* readFileRows(path, reader);
}

async function* readFileRows(path: string, reader: SourceReader): AsyncIterable<Row> {
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
    yield { row: parseLine(text), where };
  }
}

function parseLine(text: string): ParsedRow {
  const { value, error } = parseJson(text);
  if (error === undefined) return parseQuestionRow(value);
  return { problems: [`expected JSON (${error}), received ${showValue(text)}`] };
}

async function* readArray(path: string, reader: SourceReader): AsyncIterable<Row> {
  const parsed = parseJson((await reader.readText(path)).replace(/^\uFEFF/, ''));
  if (parsed.error !== undefined) {
    throw invalidQuestions([`${path}: expected a JSON array (${parsed.error})`]);
  }
  for (const [index, row] of (parsed.value as unknown[]).entries()) {
    yield { row: parseQuestionRow(row), where: `${path}[${index}]` };
  }
}

function parseJson(text: string): { readonly value?: unknown; readonly error?: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: describeJsonError(error, text) };
  }
}
