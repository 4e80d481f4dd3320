import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type {
  Clock,
  Pattern,
  PatternMatch,
  UserCall,
  UserCallRequest,
  UserCode,
} from '@thrice/core';
import { CodeProcess } from './code-process.ts';
import { CommandProcess } from './command-process.ts';
import { ThreadPatternMatcher } from './thread-pattern-matcher.ts';

/** Runs patterns in a thread, and each file and command in a process of its own. */
export class LocalUserCode implements UserCode, Disposable {
  readonly #clock: Clock;
  readonly #patterns: ThreadPatternMatcher;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #open: OpenCode[] = [];

  /** @param environment - That of this process, of which commands see a few variables, and files none. */
  constructor(clock: Clock, environment: Readonly<Record<string, string | undefined>>) {
    this.#clock = clock;
    this.#environment = environment;
    this.#patterns = new ThreadPatternMatcher(clock);
  }

  match(pattern: Pattern, text: string, limitMs: number): Promise<PatternMatch> {
    return this.#patterns.match(pattern, text, limitMs);
  }

  call({ code, specPath, ...call }: UserCallRequest): Promise<UserCall> {
    const folder = dirname(specPath);
    const open = this.#open.find((each) => isDeepStrictEqual(each.place, { code, folder }));
    if (open !== undefined) return open.calls.call(call);
    const calls = new GatheredCalls(this.#start(code, folder));
    this.#open.push({ place: { code, folder }, calls });
    return calls.call(call);
  }

  #start(code: UserCallRequest['code'], folder: string): CodeProcess | CommandProcess {
    return 'command' in code
      ? new CommandProcess(code, folder, this.#clock, this.#environment)
      : new CodeProcess({ folder, files: code.files }, this.#clock);
  }

  [Symbol.dispose](): void {
    this.#patterns[Symbol.dispose]();
    for (const { calls } of this.#open.splice(0)) calls[Symbol.dispose]();
  }
}

/** Code that was called, and what calls it. */
interface OpenCode {
  readonly place: Pick<UserCallRequest, 'code'> & { readonly folder: string };
  readonly calls: GatheredCalls;
}

type Call = Omit<UserCallRequest, 'code' | 'specPath'>;

interface WaitingCall {
  readonly call: Call;
  readonly settle: (ended: UserCall) => void;
}

/** What could not be given to a process, as where no copy of a file can be written. */
function toCrashes(inputs: readonly unknown[]): (error: unknown) => readonly UserCall[] {
  return (error) => inputs.map(() => ({ kind: 'crashed', message: String(error) }));
}

/**
 * Gathers the calls that are made while others run: a message for many takes a twentieth of the time of one for each, and a
 * command is started for all of them.
 */
class GatheredCalls implements Disposable {
  readonly #process: CodeProcess | CommandProcess;
  #waiting: WaitingCall[] = [];
  #isRunning = false;

  constructor(process: CodeProcess | CommandProcess) {
    this.#process = process;
  }

  call(call: Call): Promise<UserCall> {
    return new Promise((settle) => {
      this.#waiting.push({ call, settle });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Those that are made at once have joined.
    await Promise.resolve();
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const { method, limitMs } = first.call;
      const isAlike = ({ call }: WaitingCall) => call.method === method && call.limitMs === limitMs;
      const batch = this.#waiting.filter(isAlike);
      this.#waiting = this.#waiting.filter((each) => !isAlike(each));
      const inputs = batch.map(({ call }) => call.input);
      const ended = await this.#process.call(method, inputs, limitMs).catch(toCrashes(inputs));
      for (const [index, { settle }] of batch.entries()) {
        settle(ended[index] ?? { kind: 'crashed', message: 'the process has ended' });
      }
    }
    this.#isRunning = false;
  }

  [Symbol.dispose](): void {
    this.#process[Symbol.dispose]();
  }
}
