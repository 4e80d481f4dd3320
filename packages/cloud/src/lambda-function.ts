import { randomUUID } from 'node:crypto';
import type { Bundle } from './bundle-functions.ts';
import { ExecutionEnvironment, type InvocationOutcome } from './execution-environment.ts';
import type { FunctionLog } from './function-log.ts';

/** What an account has when a function reserves nothing. */
const UNRESERVED_CONCURRENCY = 1_000;

export interface LambdaFunctionInit {
  readonly name: string;
  readonly arn: string;
  readonly bundle: Bundle;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** Invocations at once. */
  readonly reservedConcurrency: number | undefined;
  readonly variables: Readonly<Record<string, string>>;
  readonly log: FunctionLog;
}

/**
 * A function: as many execution environments as it has invocations at once, each kept warm after.
 *
 * Unlike Lambda's, an environment is not frozen between two events, and is kept until the end.
 */
export class LambdaFunction implements AsyncDisposable {
  readonly #init: LambdaFunctionInit;
  /** The one used last is used next, so that the fewest stay warm. */
  readonly #idle: ExecutionEnvironment[] = [];
  readonly #environments = new Set<ExecutionEnvironment>();
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(init: LambdaFunctionInit) {
    this.#init = init;
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
    log.write('start', { functionName: name, requestId, processId });
    const request = { requestId, event, functionArn: arn };
    const outcome = failure ?? (await environment.invoke(request, timeoutSeconds * 1_000));
    this.#giveBack(environment);
    log.write('report', {
      functionName: name,
      requestId,
      processId,
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
    const { bundle, memoryMb, variables, log } = this.#init;
    const logFileDescriptor = log.fileDescriptor;
    const started = new ExecutionEnvironment({ bundle, memoryMb, variables, logFileDescriptor });
    this.#environments.add(started);
    return started;
  }

  #giveBack(environment: ExecutionEnvironment): void {
    if (environment.isAlive) this.#idle.push(environment);
    else this.#environments.delete(environment);
  }

  /** Kills every environment, at work or not. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const environment of this.#environments) environment.kill();
    await Promise.allSettled(this.#running);
  }
}
