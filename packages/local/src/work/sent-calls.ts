import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  type CallKey,
  type CallNotes,
  type Clock,
  groupKey,
  nameOfCall,
  ThriceError,
} from '@thrice/core';
import * as z from 'zod';
import { makeFolder } from '../store/make-folder.ts';

/** The space of a call in the file, bytes: more than its names take. */
const NOTE_BYTES = 1_024;
const SPACE = 0x20;
/** What the name of a file ends with that is being written. */
const UNFINISHED = '.tmp';

const sentCallSchema = z.strictObject({
  run: z.string(),
  config: z.string(),
  id: z.string(),
  step: z.string(),
  callId: z.string(),
  sentAt: z.iso.datetime(),
});
/** A call that was sent: which, and when. */
export type SentCall = Readonly<z.infer<typeof sentCallSchema>>;

/** The calls that a worker had in flight, as far as it has not forgotten them. */
export interface WorkerCalls {
  readonly owner: string;
  readonly calls: readonly SentCall[];
}

/**
 * Notes in a file of a group which of its calls a process has in flight: only these may be paid twice.
 *
 * A call has a note in the file from before it is sent until it has failed, or until its place is taken by another: the
 * journal says which of them are recorded. The notes survive the process. The machine writes them within seconds: nothing
 * is flushed, so that a note takes microseconds. Their room is taken in advance, so that a disk that is full has it, too.
 */
export class SentCalls implements CallNotes, Disposable {
  readonly #path: string;
  readonly #file: number;
  readonly #clock: Clock;
  /** Where the calls that are not recorded are noted. */
  readonly #positions = new Map<string, number>();
  readonly #free: number[] = [];
  #room = 0;
  /** What is written next. */
  readonly #bytes = Buffer.alloc(NOTE_BYTES);

  /**
   * @param init.owner - The name of this process's worker.
   * @param init.callCount - The calls in flight at most.
   * @throws {ThriceError} `store-unusable` where there is no room for so many notes.
   */
  constructor({
    folder,
    group,
    owner,
    callCount,
    clock,
  }: {
    readonly folder: string;
    readonly group: string;
    readonly owner: string;
    readonly callCount: number;
    readonly clock: Clock;
  }) {
    this.#path = join(notesFolder(folder, group), owner);
    this.#clock = clock;
    this.#file = this.#attempt(() => {
      makeFolder(notesFolder(folder, group));
      return openSync(this.#path, 'w');
    });
    this.#makeRoom(callCount);
  }

  add(call: CallKey): void {
    if (this.#free.length === 0) this.#makeRoom(this.#room);
    const position = this.#free.pop() ?? 0;
    this.#positions.set(nameOfCall(call), position);
    const { cell, step, callId } = call;
    const { run, config, id } = cell;
    const sentAt = this.#clock.toIso(this.#clock.now());
    this.#write(position, JSON.stringify({ run, config, id, step, callId, sentAt }));
  }

  settle(call: CallKey): void {
    this.#leave(call);
  }

  forget(call: CallKey): void {
    const position = this.#leave(call);
    if (position !== undefined) this.#write(position, '');
  }

  #leave(call: CallKey): number | undefined {
    const name = nameOfCall(call);
    const position = this.#positions.get(name);
    if (position === undefined) return undefined;
    this.#positions.delete(name);
    this.#free.push(position);
    return position;
  }

  /** Takes the room of so many more notes. */
  #makeRoom(callCount: number): void {
    const empty = Buffer.alloc(callCount * NOTE_BYTES, ' ');
    for (let no = 1; no <= callCount; no += 1) empty.write('\n', no * NOTE_BYTES - 1);
    this.#attempt(() => writeSync(this.#file, empty, 0, empty.length, this.#room * NOTE_BYTES));
    for (let no = callCount - 1; no >= 0; no -= 1) this.#free.push(this.#room + no);
    this.#room += callCount;
  }

  #write(position: number, text: string): void {
    const end = this.#bytes.write(text, 0, NOTE_BYTES - 1);
    this.#bytes.fill(SPACE, end).write('\n', NOTE_BYTES - 1);
    this.#attempt(() => writeSync(this.#file, this.#bytes, 0, NOTE_BYTES, position * NOTE_BYTES));
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw new ThriceError({
        code: 'store-unusable',
        message: `${this.#path}: calls cannot be noted here before they are made (${error instanceof Error ? error.message : String(error)}); free some space, or make the folder writable`,
        cause: error,
      });
    }
  }

  /** The process ends in order. What it has stopped, or could not record, stays noted. */
  [Symbol.dispose](): void {
    closeSync(this.#file);
    if (this.#positions.size === 0) remove(this.#path);
  }
}

/** Reads the notes of those workers of a group that have left some and are asked for. */
export function readSentCalls(
  folder: string,
  group: string,
  isAskedFor: (owner: string) => boolean,
): readonly WorkerCalls[] {
  const notes = notesFolder(folder, group);
  return namesIn(notes)
    .filter((name) => !name.endsWith(UNFINISHED) && isAskedFor(name))
    .map((owner) => ({ owner, calls: readCalls(join(notes, owner)) }));
}

/** Replaces the notes of a worker that is gone by those that are left when its recorded calls are taken away. */
export function replaceSentCalls(
  folder: string,
  group: string,
  { owner, calls }: WorkerCalls,
): void {
  const path = join(notesFolder(folder, group), owner);
  try {
    writeFileSync(
      `${path}${UNFINISHED}`,
      calls.map((call) => `${JSON.stringify(call)}\n`).join(''),
    );
    renameSync(`${path}${UNFINISHED}`, path);
    if (calls.length === 0) remove(path);
  } catch {
    // A full disk: all of them stay.
  }
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** A line that is not a note is what a machine has not written before its end. */
function readCalls(path: string): readonly SentCall[] {
  try {
    return readFileSync(path, 'utf8').split('\n').flatMap(parseCall);
  } catch {
    // Another process has found that all of them are recorded.
    return [];
  }
}

function parseCall(line: string): readonly SentCall[] {
  if (line.trim() === '') return [];
  try {
    return [sentCallSchema.parse(JSON.parse(line))];
  } catch {
    return [];
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A folder that takes no changes: notes of recorded calls harm nothing.
  }
}

function notesFolder(folder: string, group: string): string {
  return join(folder, groupKey(group, '.in-flight'));
}
