import { dirname } from 'node:path';
import type {
  Clock,
  Pattern,
  PatternMatch,
  UserCall,
  UserCallRequest,
  UserCode,
} from '@thrice/core';
import { CodeProcess } from './code-process.ts';
import { ThreadPatternMatcher } from './thread-pattern-matcher.ts';

/** Runs patterns in a thread, and each file in a process of its own. */
export class LocalUserCode implements UserCode, Disposable {
  readonly #clock: Clock;
  readonly #patterns: ThreadPatternMatcher;
  /** By folder and files. */
  readonly #files = new Map<string, OpenFile>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#patterns = new ThreadPatternMatcher(clock);
  }

  match(pattern: Pattern, text: string, limitMs: number): Promise<PatternMatch> {
    return this.#patterns.match(pattern, text, limitMs);
  }

  call({ file, specPath, ...call }: UserCallRequest): Promise<UserCall> {
    const folder = dirname(specPath);
    const key = JSON.stringify([folder, file.files]);
    const open =
      this.#files.get(key) ?? new OpenFile(new CodeProcess({ folder, ...file }, this.#clock));
    this.#files.set(key, open);
    return open.call(call);
  }

  [Symbol.dispose](): void {
    this.#patterns[Symbol.dispose]();
    for (const open of this.#files.values()) open[Symbol.dispose]();
    this.#files.clear();
  }
}

type Call = Omit<UserCallRequest, 'file' | 'specPath'>;

interface WaitingCall {
  readonly call: Call;
  readonly settle: (ended: UserCall) => void;
}

/** Gathers the calls that are made while others run: one message for many takes a twentieth of the time of each. */
class OpenFile implements Disposable {
  readonly #process: CodeProcess;
  #waiting: WaitingCall[] = [];
  #isRunning = false;

  constructor(process: CodeProcess) {
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
      const ended = await this.#process.call(method, inputs, limitMs);
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
