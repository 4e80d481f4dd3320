import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  type BlobStore,
  cutList,
  type GoldRow,
  type GroupHeader,
  goldRowSchema,
  isPlanned,
  suggestName,
  ThriceError,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import { storedQuestions } from '../engine/stored-questions.ts';
import { shorten } from '../render/shorten.ts';

/** What people have found of the answers of a group. */
export interface Gold {
  readonly rows: readonly GoldRow[];
  readonly sha256: string;
}

/** A line of a gold file, and where it stands in it. */
interface PlacedRow {
  readonly number: number;
  readonly row: GoldRow;
}

/** So much of a line that is none is shown, characters. */
const SHOWN_CHARS = 80;

/**
 * Reads a gold file.
 *
 * @param folder - What its path is relative to.
 * @throws {ThriceError} `invalid-file` with a line for each problem: no row, a row that is none, about an answer that the
 *   group does not have, or about the same answer as another.
 */
export async function readGold(
  file: string,
  folder: string,
  { header, blobs }: { readonly header: GroupHeader; readonly blobs: BlobStore },
): Promise<Gold> {
  const text = await readFile(resolve(folder, file), 'utf8').catch((cause: unknown) => {
    throw new ThriceError({ code: 'invalid-file', message: `${file}: cannot be read`, cause });
  });
  const problems: string[] = [];
  const rows = text.split('\n').flatMap((line, index): PlacedRow[] => {
    if (line.trim() === '') return [];
    const row = parseRow(line);
    if (row !== undefined) return [{ number: index + 1, row }];
    const expected =
      '{"id": "q1", "config": "a", "correct": true}, with "run" if there are several';
    problems.push(
      `${file}:${index + 1}: expected a line as ${expected}, received ${shorten(line.trim(), SHOWN_CHARS)}`,
    );
    return [];
  });
  if (rows.length === 0 && problems.length === 0)
    problems.push(`${file}: expected at least one row, received none`);
  const ids = await knownIds(rows, header, blobs);
  const byAnswer = Map.groupBy(rows, ({ row: { id, config, run } }) =>
    JSON.stringify([id, config, run]),
  );
  for (const [first, ...others] of byAnswer.values()) {
    if (first === undefined) continue;
    const unknown = describeUnknown(first.row, header, ids);
    if (unknown !== undefined) problems.push(`${file}:${first.number}: ${unknown}`);
    for (const other of others)
      problems.push(`${file}:${other.number}: ${describeTwin(other, first)}`);
  }
  if (problems.length > 0)
    throw new ThriceError({ code: 'invalid-file', message: cutList(problems).join('\n') });
  const digest = createNodeDigest();
  digest.update(text);
  return { rows: rows.map(({ row }) => row), sha256: digest.hex() };
}

function parseRow(line: string): GoldRow | undefined {
  try {
    return goldRowSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}

/** Which of the ids the questions of the group have. */
async function knownIds(
  rows: readonly PlacedRow[],
  header: GroupHeader,
  blobs: BlobStore,
): Promise<ReadonlySet<string>> {
  const asked = new Set(rows.map(({ row }) => row.id));
  const known = new Set<string>();
  for await (const { id } of storedQuestions(header, blobs)) if (asked.has(id)) known.add(id);
  return known;
}

function describeUnknown(
  { id, config, run }: GoldRow,
  header: GroupHeader,
  ids: ReadonlySet<string>,
): string | undefined {
  if (!ids.has(id)) return `id "${id}": no such question in ${header.group}`;
  if (!isPlanned(header, config)) {
    const names = header.configs.map((each) => each.config);
    return `config "${config}": no such config in ${header.group}${suggestName(config, names)}`;
  }
  if (run === undefined || header.runs.includes(run)) return undefined;
  return `run "${run}": no such run in ${header.group}${suggestName(run, header.runs)}`;
}

function describeTwin({ row }: PlacedRow, earlier: PlacedRow): string {
  const said = earlier.row.correct === row.correct ? 'the same' : 'another';
  return `expected one row an answer, received ${said} verdict on that of line ${earlier.number}; leave out one of them`;
}
