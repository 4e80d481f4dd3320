import { type BlobStore, type GroupHeader, type Question, readStoredQuestions } from '@thrice/core';

/** Reads the questions that a group stored: the files that they came from may be on another machine. */
export async function* storedQuestions(
  header: GroupHeader,
  blobs: BlobStore,
): AsyncIterable<Question> {
  for await (const { question } of readStoredQuestions(header, blobs)) yield question;
}
