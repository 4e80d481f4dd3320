import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createResources } from './create-resources.ts';
import { codeBuilder, type DeployedCode } from './deployed-code.ts';
import { entryOf } from './entry-of.ts';
import { EventSourcePoller } from './event-source-poller.ts';
import { type FunctionLog, openFunctionLog } from './function-log.ts';
import { awsVariables } from './function-variables.ts';
import type { Intercept } from './intercept.ts';
import { LambdaFunction } from './lambda-function.ts';
import { periodSecondsOf, ScheduleRunner } from './schedule.ts';
import { parseStack, type Stack } from './stack.ts';
import { type Emulators, startEmulators } from './start-emulators.ts';

/** The account and region that synthesized names speak of, whatever the machine is set to. */
const REGION = 'us-east-1';
const ACCOUNT = '123456789012';

/** What a deployment may change beside the code. */
export interface Deployment {
  /** Variables that every function gets on top. @default Those of the deployment before */
  readonly functionVariables?: Readonly<Record<string, string>>;
}

/** A running stack. */
export interface Cloud extends AsyncDisposable {
  /** What a command needs to use it, the stage's name included. */
  readonly variables: Readonly<Record<string, string>>;
  readonly emulators: Emulators;
  /** What functions print, and how each invocation ended. */
  readonly logPath: string;
  /** By component, for example `Answer`. */
  readonly functions: ReadonlyMap<string, LambdaFunction>;
  /**
   * Builds the functions anew and puts them in place of the old ones, as a deployment does while a run is
   * under way: invocations that have begun end on the old code, later ones begin on the new.
   */
  deploy(deployment?: Deployment): Promise<void>;
}

export interface CloudInit extends Deployment {
  /** The repository, to which the functions' sources are relative. */
  readonly root: string;
  /** Gives the synthesized stack; it may leave files in the folder, which is gone at the end. */
  readonly synthesize: (folder: string) => Promise<unknown>;
  /** A file that functions' output is added to; it stays. */
  readonly logPath: string;
  /** The machine's variables: see `functionVariables`. */
  readonly machine: Readonly<Record<string, string | undefined>>;
  /** Seconds between two invocations of each schedule. @default As the schedule says */
  readonly tickSeconds?: number;
  /** Sees every request to an emulator, after the stack has been created. @default None does */
  readonly intercept?: Intercept;
}

/** Starts a stack on this machine: its tables, buckets and queues, its functions and what sets them off. */
export async function startCloud(init: CloudInit): Promise<Cloud> {
  await using owned = new AsyncDisposableStack();
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'thrice-cloud-')));
  owned.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const stack = parseStack(await init.synthesize(folder));
  const log = owned.use(openFunctionLog(init.logPath));
  const emulators = owned.use(
    await startEmulators({
      ...stack,
      region: REGION,
      intercept: init.intercept,
      onInterceptError: (error) => log.write('intercept', { error: describe(error) }),
    }),
  );
  await createResources(stack, emulators);
  const build = codeBuilder({ ...init, stack, folder, emulators });
  let variables = init.functionVariables ?? {};
  const functions = createFunctions(stack, await build(variables), log);
  for (const created of functions.values()) owned.use(created);
  const functionsByName = new Map([...functions.values()].map((each) => [each.name, each]));
  for (const trigger of createTriggers({ init, stack, emulators, log, functionsByName, owned })) {
    owned.use(trigger);
  }
  const running = owned.move();
  return {
    variables: { ...awsVariables(emulators), THRICE_STAGE: stack.app.stage },
    emulators,
    logPath: log.path,
    functions,
    async deploy({ functionVariables = variables } = {}) {
      variables = functionVariables;
      const codes = await build(variables);
      for (const [component, each] of functions) each.deploy(entryOf(codes, component));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function createFunctions(
  stack: Stack,
  codes: ReadonlyMap<string, DeployedCode>,
  log: FunctionLog,
): ReadonlyMap<string, LambdaFunction> {
  return new Map(
    stack.functions.map((spec) => [
      spec.component,
      new LambdaFunction({
        component: spec.component,
        name: spec.name,
        arn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${spec.name}`,
        code: entryOf(codes, spec.component),
        timeoutSeconds: spec.timeout,
        memoryMb: spec.memorySize,
        reservedConcurrency: spec.reservedConcurrentExecutions,
        log,
      }),
    ]),
  );
}

/** Starts to poll and to tick. */
function createTriggers({
  init,
  stack,
  emulators,
  log,
  functionsByName,
  owned,
}: {
  readonly init: CloudInit;
  readonly stack: Stack;
  readonly emulators: Emulators;
  readonly log: FunctionLog;
  readonly functionsByName: ReadonlyMap<string, LambdaFunction>;
  readonly owned: AsyncDisposableStack;
}): readonly AsyncDisposable[] {
  const { region, credentials, sqsUrl } = emulators;
  const client = new SQSClient({
    region,
    credentials,
    endpoint: sqsUrl,
    // A long poll occupies a socket, and every mapping has one.
    requestHandler: { httpAgent: { maxSockets: Number.POSITIVE_INFINITY } },
  });
  owned.defer(() => client.destroy());
  const queues = new Map(stack.queues.map((queue) => [queue.name, queue]));
  const pollers = stack.mappings.map((mapping) => {
    const subscriber = entryOf(functionsByName, mapping.functionName);
    return new EventSourcePoller({
      mapping,
      queueUrl: `${sqsUrl}/${ACCOUNT}/${mapping.queueName}`,
      visibilitySeconds: entryOf(queues, mapping.queueName).visibilityTimeoutSeconds,
      region,
      client,
      invoke: (event) => subscriber.invoke(event),
      log,
    });
  });
  const schedules = stack.schedules.map((schedule) => {
    const target = entryOf(functionsByName, schedule.functionName);
    return new ScheduleRunner({
      schedule,
      periodSeconds: init.tickSeconds ?? periodSecondsOf(schedule.expression),
      invoke: (event) => target.invoke(event),
      log,
    });
  });
  return [...pollers, ...schedules];
}
