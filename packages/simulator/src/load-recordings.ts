import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { PromptArm } from './question-text.ts';
import { invalidFile, type JsonLine, readJsonLines } from './read-input-file.ts';
import type { ServedFinishReason } from './simulated-model.ts';

/** A recorded answer, looked up by question text and arm. */
export interface Recording {
  readonly question: string;
  readonly arm: PromptArm;
  /** The recorded text; an empty text is a valid answer. */
  readonly prediction: string;
  /** @default `length` for a chain of thought without "the answer is ", otherwise `stop`. */
  readonly finishReason?: ServedFinishReason | undefined;
}

/** Recorded answers. A question may occur more than once if its answers are identical. */
export type Recordings = readonly Recording[];

const genericRowSchema = z.object({
  question: z.string(),
  arm: z.enum(['direct', 'cot']).default('direct'),
  prediction: z.string(),
  finishReason: z.enum(['stop', 'length', 'content_filter']).optional(),
});

const bbhQuestionSchema = z.object({
  subtask: z.string(),
  index: z.int().min(0),
  input: z.string(),
  prompt_input: z.string().optional(),
});
type BbhQuestion = z.infer<typeof bbhQuestionSchema>;

const bbhPredictionSchema = z.object({
  subtask: z.string(),
  index: z.int().min(0),
  prediction: z.string(),
});

const bbhQuestionsFile = 'bbh_questions.jsonl';
const bbhPredictionFiles = { direct: 'codex_direct.jsonl', cot: 'codex_cot.jsonl' } as const;

/**
 * Loads recorded answers.
 *
 * @param path - A folder in the BBH layout (`bbh_questions.jsonl` with `codex_direct.jsonl`,
 *   `codex_cot.jsonl` or both, any set of subtasks), or a JSONL file of rows
 *   `{ question, arm?, prediction, finishReason? }`.
 * @throws {ThriceError} `invalid-file` when a file is missing or a row has the wrong shape, names an
 *   unknown question, or contradicts an earlier row of the same question and arm.
 */
export async function loadRecordings(path: string): Promise<Recordings> {
  return (await isFolder(path)) ? await loadBbhFolder(path) : await loadGenericFile(path);
}

async function loadGenericFile(path: string): Promise<Recordings> {
  const rows = await readJsonLines(path, genericRowSchema);
  const collected = new RecordingCollection();
  for (const { lineNumber, value } of rows) collected.add(value, `${path}:${lineNumber}`);
  return collected.finish();
}

async function loadBbhFolder(folder: string): Promise<Recordings> {
  const questionRows = await readJsonLines(join(folder, bbhQuestionsFile), bbhQuestionSchema);
  const questions = new Map(
    questionRows.map(({ value }) => [`${value.subtask}/${value.index}`, value] as const),
  );
  const collected = new RecordingCollection();
  let fileCount = 0;
  for (const arm of ['direct', 'cot'] as const) {
    const path = join(folder, bbhPredictionFiles[arm]);
    if (!(await exists(path))) continue;
    fileCount += 1;
    const rows = await readJsonLines(path, bbhPredictionSchema);
    addBbhPredictions({ rows, arm, path, questions, collected });
  }
  if (fileCount === 0) {
    const expected = Object.values(bbhPredictionFiles).join(' or ');
    throw invalidFile([
      `${folder}: expected ${expected} beside ${bbhQuestionsFile}, found neither`,
    ]);
  }
  return collected.finish();
}

function addBbhPredictions(input: {
  readonly rows: readonly JsonLine<z.infer<typeof bbhPredictionSchema>>[];
  readonly arm: PromptArm;
  readonly path: string;
  readonly questions: ReadonlyMap<string, BbhQuestion>;
  readonly collected: RecordingCollection;
}): void {
  const { rows, arm, path, questions, collected } = input;
  for (const { lineNumber, value } of rows) {
    const place = `${path}:${lineNumber}`;
    const name = `${value.subtask}/${value.index}`;
    const question = questions.get(name);
    if (question === undefined) {
      collected.reject(`${place}: expected a question of ${bbhQuestionsFile}, received ${name}`);
      continue;
    }
    // snarks/88 is truncated upstream: prompts may contain the truncated or the full text.
    const texts = new Set([question.input, question.prompt_input ?? question.input]);
    for (const text of texts) {
      collected.add({ question: text, arm, prediction: value.prediction }, place);
    }
  }
}

/** Collects recordings and their problems, so that one error reports all problems. */
class RecordingCollection {
  readonly #recordings: Recording[] = [];
  readonly #problems: string[] = [];
  readonly #firstByKey = new Map<string, { readonly prediction: string; readonly place: string }>();

  add(recording: Recording, place: string): void {
    const key = `${recording.arm}\n${recording.question}`;
    const first = this.#firstByKey.get(key);
    if (first === undefined) {
      this.#firstByKey.set(key, { prediction: recording.prediction, place });
    } else if (first.prediction !== recording.prediction) {
      this.reject(
        `${place}: expected the prediction recorded for the same question and arm at ${first.place}, received another`,
      );
      return;
    }
    this.#recordings.push(recording);
  }

  reject(problem: string): void {
    this.#problems.push(problem);
  }

  finish(): Recordings {
    if (this.#problems.length > 0) throw invalidFile(this.#problems);
    return this.#recordings;
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    // The read that follows reports a missing path.
    return false;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
