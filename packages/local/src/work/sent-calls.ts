import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CellKey, ModelClient } from '@thrice/core';
import * as z from 'zod';

/** The space of a call in the file, bytes: more than the longest key of a cell takes. */
const NOTE_BYTES = 1_024;
const SPACE = 0x20;

const sentCallSchema = z.object({ run: z.string(), config: z.string(), id: z.string() });

/**
 * Notes in a file which calls of a process are in flight, for the process that takes over from it if it is killed: only
 * these may be paid twice.
 *
 * A call has a note in the file from before it is sent until its cell is settled, or until it has failed. The notes
 * survive the process, not the machine: nothing is flushed, so that a note takes microseconds.
 */
export class SentCalls implements Disposable {
  readonly #path: string;
  /** Undefined where the file cannot be created: a full disk must not keep a call from being made. */
  readonly #file: number | undefined;
  readonly #positions = new Map<string, number>();
  readonly #free: number[] = [];
  /** What is written next. */
  readonly #bytes = Buffer.alloc(NOTE_BYTES);

  /**
   * @param folder - The folder of the engine.
   * @param owner - The name of this process's worker.
   */
  constructor(folder: string, owner: string) {
    this.#path = pathOf(folder, owner);
    this.#file = create(this.#path);
  }

  /** Returns a client that notes each call of another. */
  watch(client: ModelClient): ModelClient {
    return {
      get background() {
        return client.background;
      },
      send: async (request, signal) => {
        this.#note(request.cell);
        try {
          return await client.send(request, signal);
        } catch (error) {
          this.forget(request.cell);
          throw error;
        }
      },
    };
  }

  /** Forgets the call of a cell: it has failed, or its answer is recorded. */
  forget(cell: CellKey): void {
    const name = nameOf(cell);
    const position = this.#positions.get(name);
    if (position === undefined) return;
    this.#positions.delete(name);
    this.#free.push(position);
    this.#write(position, '');
  }

  #note(cell: CellKey): void {
    const name = nameOf(cell);
    const position = this.#positions.get(name) ?? this.#free.pop() ?? this.#positions.size;
    this.#positions.set(name, position);
    this.#write(position, name);
  }

  #write(position: number, text: string): void {
    if (this.#file === undefined) return;
    const end = this.#bytes.write(text, 0, NOTE_BYTES - 1);
    this.#bytes.fill(SPACE, end).write('\n', NOTE_BYTES - 1);
    try {
      writeSync(this.#file, this.#bytes, 0, NOTE_BYTES, position * NOTE_BYTES);
    } catch {
      // Without the note, the process that takes over says less.
    }
  }

  /** The process ends in order: no call is in flight any more. */
  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
    remove(this.#path);
  }
}

/** Reads which calls of a dead process were in flight, and removes its notes; nothing if there are none. */
export function takeSentCalls(folder: string, owner: string): readonly CellKey[] {
  const path = pathOf(folder, owner);
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => sentCallSchema.parse(JSON.parse(line)));
  } catch {
    return [];
  } finally {
    remove(path);
  }
}

function create(path: string): number | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'w');
  } catch {
    return undefined;
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A folder that takes no changes: the notes of a process that is gone harm nothing.
  }
}

function pathOf(folder: string, owner: string): string {
  return join(folder, 'sent', owner);
}

function nameOf({ run, config, id }: CellKey): string {
  return JSON.stringify({ run, config, id });
}
