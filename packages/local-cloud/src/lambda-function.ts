import { randomUUID } from 'node:crypto';
import type { DeployedCode } from './deployed-code.ts';
import { ExecutionEnvironment, type InvocationOutcome } from './execution-environment.ts';
import type { FunctionLog } from './function-log.ts';

/** What an account has when a function reserves nothing. */
const UNRESERVED_CONCURRENCY = 1_000;

export interface LambdaFunctionInit {
  /** For example `Answer`: its environments are `Answer-1`, `Answer-2` and so on. */
  readonly component: string;
  readonly name: string;
  readonly arn: string;
  readonly code: DeployedCode;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** Invocations at once. */
  readonly reservedConcurrency: number | undefined;
  readonly log: FunctionLog;
}

/**
 * A function: as many execution environments as it has invocations at once, each kept warm after.
 *
 * Unlike Lambda's, an environment is not frozen between two events, and is kept until the end.
 */
export class LambdaFunction implements AsyncDisposable {
  readonly #init: LambdaFunctionInit;
  #code: DeployedCode;
  #startCount = 0;
  /** The one used last is used next, so that the fewest stay warm. */
  readonly #idle: ExecutionEnvironment[] = [];
  readonly #environments = new Set<ExecutionEnvironment>();
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(init: LambdaFunctionInit) {
    this.#init = init;
    this.#code = init.code;
  }

  get name(): string {
    return this.#init.name;
  }

  /**
   * Answers one event, in a warm environment if there is one.
   *
   * @returns `undefined` when all of its concurrency is in use: throttled.
   */
  async invoke(event: unknown): Promise<InvocationOutcome | undefined> {
    const limit = this.#init.reservedConcurrency ?? UNRESERVED_CONCURRENCY;
    if (this.#running.size >= limit || this.#isClosed) return undefined;
    const invocation = this.#run(event);
    this.#running.add(invocation);
    try {
      return await invocation;
    } finally {
      this.#running.delete(invocation);
    }
  }

  async #run(event: unknown): Promise<InvocationOutcome> {
    const { name, arn, timeoutSeconds, log } = this.#init;
    const requestId = randomUUID();
    const startedAtMs = performance.now();
    const warm = this.#takeWarm();
    const environment = warm ?? this.#start();
    const { processId } = environment;
    const failure = warm === undefined ? await environment.load() : undefined;
    const initDurationMs = warm === undefined ? performance.now() - startedAtMs : undefined;
    const about = { functionName: name, requestId, environmentId: environment.id, processId };
    log.write('start', about);
    const request = { requestId, event, functionArn: arn };
    const outcome = failure ?? (await environment.invoke(request, timeoutSeconds * 1_000));
    this.#giveBack(environment);
    log.write('report', {
      ...about,
      status: outcome.isOk ? 'success' : 'error',
      ...(!outcome.isOk && { errorType: outcome.errorType, errorMessage: outcome.errorMessage }),
      metrics: { durationMs: performance.now() - startedAtMs, initDurationMs },
    });
    return outcome;
  }

  #takeWarm(): ExecutionEnvironment | undefined {
    let environment = this.#idle.pop();
    while (environment !== undefined && !environment.isAlive) {
      this.#environments.delete(environment);
      environment = this.#idle.pop();
    }
    return environment;
  }

  #start(): ExecutionEnvironment {
    const { component, memoryMb, log } = this.#init;
    this.#startCount += 1;
    const started = new ExecutionEnvironment({
      id: `${component}-${this.#startCount}`,
      code: this.#code,
      memoryMb,
      logFileDescriptor: log.fileDescriptor,
    });
    this.#environments.add(started);
    return started;
  }

  #giveBack(environment: ExecutionEnvironment): void {
    if (environment.code !== this.#code) environment.kill();
    if (environment.isAlive) this.#idle.push(environment);
    else this.#environments.delete(environment);
  }

  /** Lets later invocations begin on other code; those that have begun end on theirs. */
  deploy(code: DeployedCode): void {
    this.#code = code;
    for (const environment of this.#idle.splice(0)) {
      environment.kill();
      this.#environments.delete(environment);
    }
  }

  /**
   * Ends an environment as the failure of its host does: at once, and with it what it was doing.
   *
   * @returns Whether there was one.
   */
  kill(environmentId: string): boolean {
    const found = [...this.#environments].find(({ id }) => id === environmentId);
    found?.kill();
    return found !== undefined;
  }

  /** Kills every environment, at work or not. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const environment of this.#environments) environment.kill();
    await Promise.allSettled(this.#running);
  }
}
