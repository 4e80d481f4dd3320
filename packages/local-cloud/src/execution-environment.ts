import { type ChildProcess, fork } from 'node:child_process';
import { dirname } from 'node:path';
import type { DeployedCode } from './deployed-code.ts';
import type { FromEnvironment, ToEnvironment } from './environment-protocol.ts';
import { ENVIRONMENT_ID_VARIABLE } from './parse-aws-request.ts';

/** Lambda gives 10 s; more here, for a machine that starts many at once. */
const INIT_TIMEOUT_MS = 60_000;
/** The rest of a function's memory is for what is not in the heap. */
const HEAP_SHARE = 0.9;

/** How an invocation ended. */
export type InvocationOutcome =
  | { readonly isOk: true /** JSON. */; readonly payload: string }
  | { readonly isOk: false; readonly errorType: string; readonly errorMessage: string };

type FailedInvocation = Extract<InvocationOutcome, { readonly isOk: false }>;
type ToldFailure = Extract<FromEnvironment, { readonly type: 'failed' }>;

/** A process of ours does not tell it. */
const OUT_OF_TURN = { errorType: 'Runtime.Protocol', errorMessage: 'told something out of turn' };

export interface EnvironmentInit {
  /** Told with each request to AWS. At most 50 letters, digits and hyphens. */
  readonly id: string;
  /** Its variables are all there are: nothing is taken from this process. */
  readonly code: DeployedCode;
  readonly memoryMb: number;
  readonly logFileDescriptor: number;
}

/**
 * One warm or cold Lambda: a process that answers one event after another.
 *
 * starting --load--> idle --invoke--> busy --answer--> idle; an exit or a time limit ends it, and fails
 * whatever it was doing.
 */
export class ExecutionEnvironment {
  readonly id: string;
  readonly code: DeployedCode;
  readonly #child: ChildProcess;
  #settle: (message: FromEnvironment) => void = () => undefined;
  #end: ToldFailure | undefined;

  /** Starts a process; `load` is to be called at once. */
  constructor({ id, code, memoryMb, logFileDescriptor }: EnvironmentInit) {
    this.id = id;
    this.code = code;
    const { bundle, variables } = code;
    this.#child = fork(bundle.runtimeFile, [bundle.file, bundle.exportName], {
      cwd: dirname(bundle.file),
      // Its last part is Powertools' own mark: without it Powertools adds more than the SDK takes.
      env: { ...variables, [ENVIRONMENT_ID_VARIABLE]: `${id}/PTEnv/NA` },
      execArgv: [`--max-old-space-size=${Math.floor(memoryMb * HEAP_SHARE)}`],
      stdio: ['ignore', logFileDescriptor, logFileDescriptor, 'ipc'],
    });
    this.#child.on('message', (message: FromEnvironment) => this.#settle(message));
    this.#child.on('error', ({ message }) => this.#endWith('Runtime.ExitError', message));
    this.#child.on('exit', (code, signal) => {
      this.#endWith('Runtime.ExitError', `Runtime exited with ${code ?? signal}`);
    });
  }

  /** Whether it can take another event. */
  get isAlive(): boolean {
    return this.#end === undefined;
  }

  get processId(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Waits until the process has loaded its code.
   *
   * @returns Why it could not, or nothing.
   */
  async load(): Promise<FailedInvocation | undefined> {
    const message = await this.#wait(INIT_TIMEOUT_MS, () => undefined);
    if (message.type === 'ready') return undefined;
    this.kill();
    const { errorType, errorMessage } = message.type === 'failed' ? message : OUT_OF_TURN;
    return { isOk: false, errorType, errorMessage };
  }

  /** Answers an event; one at a time. Past the time limit the process is killed. */
  async invoke(
    request: Omit<ToEnvironment, 'remainingMs'>,
    timeoutMs: number,
  ): Promise<InvocationOutcome> {
    const message = await this.#wait(timeoutMs, () => {
      this.#child.send({ ...request, remainingMs: timeoutMs } satisfies ToEnvironment, (error) => {
        if (error !== null) this.#endWith('Runtime.ExitError', error.message);
      });
    });
    if (message.type === 'answered') return { isOk: true, payload: message.payload };
    const { errorType, errorMessage } = message.type === 'failed' ? message : OUT_OF_TURN;
    return { isOk: false, errorType, errorMessage };
  }

  kill(): void {
    this.#endWith('Sandbox.Killed', 'killed from outside');
    this.#child.kill('SIGKILL');
  }

  /** The next thing it tells, or how it ended. */
  async #wait(timeoutMs: number, begin: () => void): Promise<FromEnvironment> {
    if (this.#end !== undefined) return this.#end;
    const { promise, resolve } = Promise.withResolvers<FromEnvironment>();
    this.#settle = resolve;
    const timer = setTimeout(() => {
      const seconds = (timeoutMs / 1_000).toFixed(2);
      this.#endWith('Sandbox.Timedout', `Task timed out after ${seconds} seconds`);
      this.kill();
    }, timeoutMs);
    try {
      begin();
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#settle = () => undefined;
    }
  }

  #endWith(errorType: string, errorMessage: string): void {
    if (this.#end !== undefined) return;
    this.#end = { type: 'failed', errorType, errorMessage };
    this.#settle(this.#end);
  }
}
