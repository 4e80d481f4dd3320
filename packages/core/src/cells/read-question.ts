import type { QuestionRange } from '../domain/cell-task.ts';
import type { GroupHeader } from '../domain/group.ts';
import { type Question, questionSchema } from '../domain/question.ts';
import { ThriceError } from '../errors.ts';
import type { BlobStore } from '../ports/blob-store.ts';

/**
 * Reads one stored question by its byte range.
 *
 * @throws {ThriceError} `store-unusable` when the range does not hold a question.
 */
export async function readQuestion(blobs: BlobStore, range: QuestionRange): Promise<Question> {
  return parseStoredQuestion(
    await blobs.readRange(range.key, range.offset, range.length),
    range.key,
  );
}

/**
 * Parses one line of a stored question file.
 *
 * @throws {ThriceError} `store-unusable` when it is damaged.
 */
export function parseStoredQuestion(line: string, key: string): Question {
  try {
    return questionSchema.parse(JSON.parse(line));
  } catch (error) {
    throw new ThriceError({
      code: 'store-unusable',
      message: `${key}: expected a stored question; the file is damaged`,
      cause: error,
    });
  }
}

/** A stored question and where it lies. */
export interface StoredQuestion {
  readonly question: Question;
  readonly range: QuestionRange;
}

/** All questions of a group with their byte ranges, in file order, streamed. */
export async function* readStoredQuestions(
  header: GroupHeader,
  blobs: BlobStore,
): AsyncIterable<StoredQuestion> {
  const { key } = header.questions;
  const encoder = new TextEncoder();
  let offset = 0;
  for await (const line of blobs.readLines(key)) {
    const length = encoder.encode(line).length;
    yield { question: parseStoredQuestion(line, key), range: { key, offset, length } };
    offset += length + 1;
  }
}
