import { Worker } from 'node:worker_threads';
import type { Clock, Pattern, PatternMatch, UserCode } from '@thrice/core';

/** Heap of the thread, MB: a pattern that needs more ends the thread, not the process. */
const MAX_HEAP_MB = 256;

/** Runs in the thread. Source text, so that a bundle of one file needs no second one. */
const threadSource = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ pattern, text }) => {
  try {
    const found = findMatch(pattern, text);
    parentPort.postMessage(found === null ? { kind: 'none' } : { kind: 'found', text: readMatch(found) });
  } catch {
    parentPort.postMessage({ kind: 'error' });
  }
});
function findMatch({ source, flags, match }, text) {
  if (match === 'first') return new RegExp(source, flags).exec(text);
  let last = null;
  // Not an array of all: a million matches would fill the memory.
  for (const each of text.matchAll(new RegExp(source, flags + 'g'))) last = each;
  return last;
}
function readMatch(match) {
  return (match.groups?.answer ?? match[1] ?? match[0]).trim();
}
parentPort.postMessage({ kind: 'ready' });
`;

/**
 * Runs patterns in one thread, one after the other.
 *
 * (none) --first match--> starting --ready--> idle <--match, reply--> busy. A match that reaches its time limit,
 * and a thread that dies, lead back to (none). An idle thread does not keep the process alive.
 */
export class ThreadPatternMatcher implements Pick<UserCode, 'match'>, Disposable {
  readonly #clock: Clock;
  #thread: Worker | undefined;
  /** Settles when every earlier match has. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  match(pattern: Pattern, text: string, limitMs: number): Promise<PatternMatch> {
    const match = this.#last.then(() => this.#match(pattern, text, limitMs));
    this.#last = match.catch(() => undefined);
    return match;
  }

  async #match(pattern: Pattern, text: string, limitMs: number): Promise<PatternMatch> {
    const thread = await this.#startThread();
    if (thread === undefined) return { kind: 'error' };
    thread.ref();
    const ended = new AbortController();
    const reply = nextReply<PatternMatch>(thread, ended.signal);
    thread.postMessage({ pattern, text });
    const timeout = this.#clock
      .sleep(limitMs, ended.signal)
      .then((): PatternMatch => ({ kind: 'timeout' }));
    const match = await Promise.race([reply, timeout]);
    ended.abort();
    if (match === undefined || match.kind === 'timeout') this.#stopThread();
    else thread.unref();
    return match ?? { kind: 'error' };
  }

  /** Returns the thread once it is ready; undefined if it cannot start. */
  async #startThread(): Promise<Worker | undefined> {
    if (this.#thread !== undefined) return this.#thread;
    const thread = new Worker(threadSource, {
      eval: true,
      // Neither the flags of the process nor its keys.
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    // Without a listener, an error of the thread would end the process.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      if (this.#thread === thread) this.#thread = undefined;
    });
    this.#thread = thread;
    const isReady = (await nextReply(thread, new AbortController().signal)) !== undefined;
    return isReady ? thread : undefined;
  }

  #stopThread(): void {
    void this.#thread?.terminate();
    this.#thread = undefined;
  }

  [Symbol.dispose](): void {
    this.#stopThread();
  }
}

/** The next message of a thread; undefined if the thread ends first. Pending for good once `signal` aborts. */
function nextReply<Reply>(thread: Worker, signal: AbortSignal): Promise<Reply | undefined> {
  return new Promise((resolve) => {
    const forget = () => {
      thread.off('message', onMessage);
      thread.off('exit', onExit);
    };
    const onMessage = (reply: Reply) => {
      forget();
      resolve(reply);
    };
    const onExit = () => {
      forget();
      resolve(undefined);
    };
    thread.on('message', onMessage);
    thread.on('exit', onExit);
    signal.addEventListener('abort', forget, { once: true });
  });
}
