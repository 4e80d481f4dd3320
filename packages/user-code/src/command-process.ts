import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type Clock, mapBounded, type UserCall, type UserCommand } from '@thrice/core';
import { type Batch, settleEach } from './settle-each.ts';

/** Lines that a process is given at most. */
const MAX_LINES = 1_000;
/** The end of what it says beside its results that is kept, characters. */
const KEPT_OUTPUT = 2_000;
/** The variables that it sees: no key of a vendor is among them. */
const ENVIRONMENT = [
  ...['PATH', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'SYSTEMROOT'],
  ...['VIRTUAL_ENV', 'CONDA_PREFIX', 'PYTHONPATH', 'LD_LIBRARY_PATH'],
];

/**
 * A command of a user, which reads a line of JSON for each answer and writes one with the same `id`, in any order.
 *
 * Its files of text are those of the plan, whatever became of them. It is started for every batch of lines, which ends with the end of its input, so that it may read them all first.
 */
export class CommandProcess implements Disposable {
  readonly #code: UserCommand;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #variables: Readonly<Record<string, string | undefined>>;
  #child: ChildProcess | undefined;
  /** Where copies of planned files are. */
  #copies: string | undefined;

  /**
   * @param folder - That of the spec, absolute.
   * @param environment - That of this process, of which the command sees a few variables.
   */
  constructor(
    code: UserCommand,
    folder: string,
    clock: Clock,
    environment: Readonly<Record<string, string | undefined>>,
  ) {
    this.#code = code;
    this.#folder = folder;
    this.#clock = clock;
    this.#variables = {
      ...Object.fromEntries(ENVIRONMENT.map((name) => [name, environment[name]])),
      // Lines that it has written are not lost where it fails.
      PYTHONUNBUFFERED: '1',
    };
  }

  /**
   * Gives the command inputs, each an object with an `id`.
   *
   * @param limitMs - How long it may be silent, > 0.
   * @returns How each ended, in the order of the inputs.
   */
  async call(
    _method: string,
    inputs: readonly unknown[],
    limitMs: number,
  ): Promise<readonly UserCall[]> {
    return await settleEach(inputs, async (next) => await this.#run(next, limitMs));
  }

  /**
   * The command with the files that were planned: where one of them has changed since, a copy of what it was.
   *
   * A copy is not beside the modules that its original imports, so Python is told where they are.
   */
  async #planned(): Promise<{
    readonly argv: readonly string[];
    readonly variables: Readonly<Record<string, string | undefined>>;
  }> {
    const folders: string[] = [];
    const argv = await mapBounded(this.#code.command, 1, async (argument) => {
      const text = Object.hasOwn(this.#code.files, argument)
        ? this.#code.files[argument]
        : undefined;
      const path = resolve(this.#folder, argument);
      if (text === undefined) return argument;
      if ((await readFile(path, 'utf8').catch(() => undefined)) === text) return argument;
      this.#copies ??= await mkdtemp(join(tmpdir(), 'thrice-planned-'));
      const copy = join(this.#copies, basename(argument));
      await writeFile(copy, text, { mode: 0o700 });
      folders.push(dirname(path));
      return copy;
    });
    const search = [...folders, this.#variables['PYTHONPATH']].filter((each) => each !== undefined);
    const variables = { ...this.#variables, PYTHONPATH: search.join(delimiter) };
    return { argv, variables: search.length === 0 ? this.#variables : variables };
  }

  /** A text with the paths of files as the spec has them. */
  #nameFiles(text: string): string {
    const folders = [this.#folder, ...(this.#copies === undefined ? [] : [this.#copies])];
    const places = folders.flatMap((folder) => [`file://${folder}/`, `${folder}/`]);
    return places.reduce((named, place) => named.replaceAll(place, ''), text);
  }

  async #run(next: readonly unknown[], limitMs: number): Promise<Batch> {
    const lines = takeDistinct(next);
    const ended = new Map<string, UserCall>();
    const { argv, variables } = await this.#planned();
    const [program = '', ...others] = argv;
    const child = spawn(program, others, {
      cwd: this.#folder,
      env: variables,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    let output = '';
    let wake: () => void = () => undefined;
    let end: string | undefined;
    const keep = (text: string) => {
      output = (output + text).slice(-KEPT_OUTPUT);
    };
    createInterface({ input: child.stdout }).on('line', (line) => {
      const result = readLine(line, lines);
      if (result === undefined) keep(`${line}\n`);
      else ended.set(result.id, result.call);
      wake();
    });
    child.stderr.on('data', (chunk: Buffer) => keep(chunk.toString()));
    // It may end before it has read all of its input.
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => {
      end = error.message;
      wake();
    });
    child.on('close', (code, signal) => {
      end ??= code === 0 ? '' : `it ended with ${signal ?? `exit code ${code}`}`;
      wake();
    });
    child.stdin.end([...lines.values()].map((input) => `${JSON.stringify(input)}\n`).join(''));
    while (end === undefined) {
      const silence = new AbortController();
      const something = new Promise<'something'>((settle) => {
        wake = () => settle('something');
      });
      const first = await Promise.race([something, this.#clock.sleep(limitMs, silence.signal)]);
      silence.abort();
      if (first === 'something') continue;
      child.kill('SIGKILL');
      return { ended: inOrder(next, ended), failure: { kind: 'timeout' } };
    }
    const said = output.trim() === '' ? '' : `: ${this.#nameFiles(output.trim())}`;
    if (end !== '')
      return {
        ended: inOrder(next, ended),
        failure: { kind: 'crashed', message: `${end}${said}` },
      };
    for (const id of lines.keys()) {
      if (!ended.has(id))
        ended.set(id, { kind: 'unusable', message: `it wrote no line for this answer${said}` });
    }
    return { ended: inOrder(next, ended) };
  }

  [Symbol.dispose](): void {
    this.#child?.kill('SIGKILL');
    if (this.#copies !== undefined) rmSync(this.#copies, { recursive: true, force: true });
  }
}

/** The inputs of one process by their ids, which it tells results by: each id once. */
function takeDistinct(inputs: readonly unknown[]): ReadonlyMap<string, unknown> {
  const taken = new Map<string, unknown>();
  for (const input of inputs) {
    if (taken.size === MAX_LINES) break;
    const id = idOf(input);
    if (!taken.has(id)) taken.set(id, input);
  }
  return taken;
}

/** The results at the places of their inputs; of inputs with the same id, at the first. */
function inOrder(
  inputs: readonly unknown[],
  ended: ReadonlyMap<string, UserCall>,
): readonly (UserCall | undefined)[] {
  const left = new Map(ended);
  return inputs.map((input) => {
    const id = idOf(input);
    const call = left.get(id);
    left.delete(id);
    return call;
  });
}

function idOf(input: unknown): string {
  return String((input as { readonly id?: unknown }).id);
}

/** The result that a line is; undefined for anything else that a command prints. */
function readLine(
  line: string,
  lines: ReadonlyMap<string, unknown>,
): { readonly id: string; readonly call: UserCall } | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || !('id' in parsed)) return undefined;
  const { id, ...value } = parsed;
  return lines.has(String(id)) ? { id: String(id), call: { kind: 'returned', value } } : undefined;
}
