import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { groupKey } from '@thrice/core';
import type { LocalEngine } from '../local-engine.ts';
import { readSentCalls, replaceSentCalls, type SentCall } from './sent-calls.ts';

type Stores = Pick<LocalEngine, 'folder' | 'ledger' | 'workers'>;

/** The calls of a group that may be paid twice, as they are listed for users. */
export interface UnrecordedCalls {
  /** How many were not listed before, of other workers and of the one that ends. */
  readonly addedCount: number;
  readonly addedOwnCount: number;
  /** The file that lists them; undefined where it cannot be written. */
  readonly file: string | undefined;
}

/**
 * Reads which calls of a group may be paid twice: they were sent, and their worker was killed, was stopped, could not
 * record the answer, or has lost the cell while it was suspended. One whose answer is recorded after all is none of them.
 */
export function readUnrecorded(group: string, stores: Stores): readonly SentCall[] {
  return inOrder(readNotes(group, stores));
}

/**
 * Lists the calls of a group that may be paid twice in its `paid-twice.jsonl`; without any there is no such file.
 *
 * @param ending - A worker that ends, and records nothing any more.
 */
export function listUnrecorded(group: string, stores: Stores, ending?: string): UnrecordedCalls {
  const { folder } = stores;
  const file = join(folder, groupKey(group, 'paid-twice.jsonl'));
  const before = readText(file);
  const notes = readNotes(group, stores, ending);
  const calls = inOrder(notes);
  const text = calls.map((call) => `${JSON.stringify(call)}\n`).join('');
  const isWritten = text === before || replaceText(file, text);
  for (const { owner, left, isGone, isShorter } of notes) {
    if (isGone && isShorter) replaceSentCalls(folder, group, { owner, calls: left });
  }
  const listed = new Set(before.split('\n'));
  const addedOf = ({ left }: NotesLeft) =>
    left.filter((call) => !listed.has(JSON.stringify(call))).length;
  const ofOthers = notes.filter(({ owner }) => owner !== ending);
  const addedCount = sum(ofOthers.map(addedOf));
  const addedOwnCount = sum(notes.map(addedOf)) - addedCount;
  return { addedCount, addedOwnCount, file: isWritten ? file : undefined };
}

/** What is left of the notes of a worker when its recorded calls are taken away. */
interface NotesLeft {
  readonly owner: string;
  readonly left: readonly SentCall[];
  readonly isGone: boolean;
  readonly isShorter: boolean;
}

/** Reads the notes of all workers but those that are seen at work, which record their calls, or forget them. */
function readNotes(
  group: string,
  { folder, ledger, workers }: Stores,
  ending?: string,
): readonly NotesLeft[] {
  const hasEnded = (owner: string) => owner === ending || !workers.isAtWork(owner);
  return readSentCalls(folder, group, hasEnded).map(({ owner, calls }) => {
    const isGone = workers.isGone(owner);
    const isOver = isGone || owner === ending;
    const left = calls.filter(({ run, config, id, callId }) =>
      ledger.isUnrecorded({ cell: { run, config, id }, callId, owner, isOver }),
    );
    return { owner, left, isGone, isShorter: left.length < calls.length };
  });
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

function inOrder(notes: readonly NotesLeft[]): readonly SentCall[] {
  const calls = notes.flatMap(({ left }) => left);
  const placeOf = ({ sentAt, callId, id }: SentCall) => `${sentAt} ${callId} ${id}`;
  return calls.toSorted((a, b) => placeOf(a).localeCompare(placeOf(b)));
}

/** A list that is not there, or cannot be read, is written anew. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Returns false where the disk is full or the folder gone, which is no reason to end a run: the notes stay. */
function replaceText(file: string, text: string): boolean {
  try {
    if (text === '') rmSync(file, { force: true });
    else {
      writeFileSync(`${file}.tmp`, text);
      renameSync(`${file}.tmp`, file);
    }
    return true;
  } catch {
    return false;
  }
}
