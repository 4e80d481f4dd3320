import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type Bundle, bundleFunctions } from './bundle-functions.ts';
import { createResources } from './create-resources.ts';
import { EventSourcePoller } from './event-source-poller.ts';
import { type FunctionLog, openFunctionLog } from './function-log.ts';
import { awsVariables, functionVariables } from './function-variables.ts';
import { LambdaFunction } from './lambda-function.ts';
import { periodSecondsOf, ScheduleRunner } from './schedule.ts';
import { type FunctionSpec, parseStack, type Stack } from './stack.ts';
import { type Emulators, startEmulators } from './start-emulators.ts';

/** The account and region that synthesized names speak of, whatever the machine is set to. */
const REGION = 'us-east-1';
const ACCOUNT = '123456789012';

/** A running stack. */
export interface Cloud extends AsyncDisposable {
  /** What a command needs to use it, the stage's name included. */
  readonly variables: Readonly<Record<string, string>>;
  readonly emulators: Emulators;
  /** What functions print, and how each invocation ended. */
  readonly logPath: string;
  /** By component, for example `Answer`. */
  readonly functions: ReadonlyMap<string, LambdaFunction>;
}

export interface CloudInit {
  /** The repository, to which the functions' sources are relative. */
  readonly root: string;
  /** Gives the synthesized stack; it may leave files in the folder, which is gone at the end. */
  readonly synthesize: (folder: string) => Promise<unknown>;
  /** A file that functions' output is added to; it stays. */
  readonly logPath: string;
  /** The machine's variables: see `functionVariables`. */
  readonly machine: Readonly<Record<string, string | undefined>>;
  /** Variables that every function gets on top. */
  readonly functionVariables?: Readonly<Record<string, string>>;
  /** Seconds between two invocations of each schedule. @default As the schedule says */
  readonly tickSeconds?: number;
}

/** Starts a stack on this machine: its tables, buckets and queues, its functions and what sets them off. */
export async function startCloud(init: CloudInit): Promise<Cloud> {
  await using owned = new AsyncDisposableStack();
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'thrice-cloud-')));
  owned.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const stack = parseStack(await init.synthesize(folder));
  const bundles = await bundleFunctions(stack.functions, { root: init.root, folder });
  const log = owned.use(openFunctionLog(init.logPath));
  const emulators = owned.use(await startEmulators({ ...stack, region: REGION }));
  await createResources(stack, emulators);
  const functions = createFunctions({ init, stack, bundles, emulators, log });
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
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Parts {
  readonly init: CloudInit;
  readonly stack: Stack;
  readonly emulators: Emulators;
  readonly log: FunctionLog;
}

function createFunctions({
  init,
  stack,
  bundles,
  emulators,
  log,
}: Parts & { readonly bundles: ReadonlyMap<string, Bundle> }): ReadonlyMap<string, LambdaFunction> {
  return new Map(
    stack.functions.map((spec) => {
      const bundle = entryOf(bundles, spec.component);
      const variables = functionVariables({
        spec,
        bundle,
        emulators,
        machine: init.machine,
        extra: init.functionVariables ?? {},
      });
      return [spec.component, createFunction(spec, bundle, variables, log)];
    }),
  );
}

function createFunction(
  spec: FunctionSpec,
  bundle: Bundle,
  variables: Readonly<Record<string, string>>,
  log: FunctionLog,
): LambdaFunction {
  return new LambdaFunction({
    name: spec.name,
    arn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${spec.name}`,
    bundle,
    timeoutSeconds: spec.timeout,
    memoryMb: spec.memorySize,
    reservedConcurrency: spec.reservedConcurrentExecutions,
    variables,
    log,
  });
}

/** Starts to poll and to tick. */
function createTriggers({
  init,
  stack,
  emulators,
  log,
  functionsByName,
  owned,
}: Parts & {
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

function entryOf<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined) throw new Error(`the stack has no ${name}`);
  return value;
}
