import * as z from 'zod';

const json = z.string().transform((text): unknown => JSON.parse(text));

const tableSchema = z.object({
  name: z.string(),
  attributes: z.array(z.object({ name: z.string(), type: z.enum(['S', 'N', 'B']) })),
  hashKey: z.string(),
  rangeKey: z.string().optional(),
});
const tableItemSchema = z.object({
  tableName: z.string(),
  item: json.pipe(z.record(z.string(), z.record(z.string(), z.unknown()))),
});
const bucketSchema = z.object({ bucket: z.string() });
const queueSchema = z.object({
  name: z.string(),
  delaySeconds: z.number().default(0),
  fifoQueue: z.literal(false).default(false),
  visibilityTimeoutSeconds: z.number(),
  messageRetentionSeconds: z.number().optional(),
  receiveWaitTimeSeconds: z.number().default(0),
  redrivePolicy: z.string().optional(),
});
const functionSchema = z.object({
  name: z.string(),
  handler: z.string(),
  /** Seconds. */
  timeout: z.number(),
  /** MB. */
  memorySize: z.number(),
  reservedConcurrentExecutions: z.number().optional(),
  environment: z.object({ variables: z.record(z.string(), z.string()) }),
});
const mappingSchema = z.object({
  eventSourceArn: z.string(),
  functionName: z.string(),
  functionResponseTypes: z.array(z.literal('ReportBatchItemFailures')).default([]),
  batchSize: z.number().default(10),
  maximumBatchingWindowInSeconds: z.number().default(0),
  scalingConfig: z.object({ maximumConcurrency: z.number() }).optional(),
  filterCriteria: z.undefined('filters are not supported').optional(),
});
const scheduleSchema = z.object({
  name: z.string(),
  scheduleExpression: z.string(),
  target: z.object({ arn: z.string(), input: json.prefault('{}') }),
});
const buildSchema = z.object({
  functionID: z.string(),
  handler: z.string(),
  links: z.record(z.string(), z.unknown()),
  properties: z.object({ minify: z.boolean().default(false) }),
});
const graphSchema = z.object({
  app: z.object({ name: z.string(), stage: z.string() }),
  resources: z.array(
    z.object({
      type: z.string(),
      name: z.string(),
      inputs: z.unknown(),
      options: z.object({ parent: z.string() }),
    }),
  ),
  builds: z.array(buildSchema),
});

export type Table = z.infer<typeof tableSchema>;
export type TableItem = z.infer<typeof tableItemSchema>;
export type Queue = z.infer<typeof queueSchema>;

/** A function, its source and its links. */
export interface FunctionSpec extends z.infer<typeof functionSchema> {
  /** The component's name, for example `Answer`. */
  readonly component: string;
  /** The source's file and export, for example `functions/answer.handler`. */
  readonly source: string;
  readonly isMinified: boolean;
  /** The links' properties by name; a handler reads `Resource.<name>`. */
  readonly links: Readonly<Record<string, unknown>>;
}

/** An event source mapping, with names instead of ARNs. */
export interface Mapping {
  readonly queueName: string;
  readonly queueArn: string;
  readonly functionName: string;
  readonly batchSize: number;
  readonly windowSeconds: number;
  /** The most concurrent invocations. */
  readonly maximumConcurrency: number;
  readonly reportsItemFailures: boolean;
}

/** A function that is invoked periodically. */
export interface Schedule {
  readonly name: string;
  /** For example `rate(1 minute)`. */
  readonly expression: string;
  readonly functionName: string;
  readonly event: unknown;
}

/** The parts of a synthesized stack that run on one machine. */
export interface Stack {
  readonly app: { readonly name: string; readonly stage: string };
  readonly tables: readonly Table[];
  readonly tableItems: readonly TableItem[];
  readonly bucketNames: readonly string[];
  readonly queues: readonly Queue[];
  readonly functions: readonly FunctionSpec[];
  readonly mappings: readonly Mapping[];
  readonly schedules: readonly Schedule[];
}

/** The concurrency of a mapping without a maximum. */
const UNBOUND_CONCURRENCY = 1_000;

/**
 * Parses the parts of a synthesized stack that run here. Other resources, such as roles and alarms, are
 * ignored.
 *
 * @param graph - The output of `npm run synth`.
 * @throws ZodError when a resource uses a feature that would behave differently here.
 */
export function parseStack(graph: unknown): Stack {
  const { app, resources, builds } = graphSchema.parse(graph);
  const inputsOf = <Inputs>(type: string, schema: z.ZodType<Inputs>) =>
    resources
      .filter((resource) => resource.type === type)
      .map(({ inputs, options }) => ({ inputs: schema.parse(inputs), parent: options.parent }));
  return {
    app,
    tables: inputsOf('aws:dynamodb/table:Table', tableSchema).map(({ inputs }) => inputs),
    tableItems: inputsOf('aws:dynamodb/tableItem:TableItem', tableItemSchema).map(
      ({ inputs }) => inputs,
    ),
    bucketNames: inputsOf('aws:s3/bucket:Bucket', bucketSchema).map(({ inputs }) => inputs.bucket),
    queues: inputsOf('aws:sqs/queue:Queue', queueSchema).map(({ inputs }) => inputs),
    functions: inputsOf('aws:lambda/function:Function', functionSchema).map(
      ({ inputs, parent }) => {
        const build = builds.find(({ functionID }) => functionID === parent);
        if (build === undefined) throw new Error(`function ${parent} has no build`);
        const { handler: source, links, properties } = build;
        return { ...inputs, component: parent, source, links, isMinified: properties.minify };
      },
    ),
    mappings: inputsOf('aws:lambda/eventSourceMapping:EventSourceMapping', mappingSchema).map(
      ({ inputs }) => ({
        queueName: lastPart(inputs.eventSourceArn),
        queueArn: inputs.eventSourceArn,
        functionName: lastPart(inputs.functionName),
        batchSize: inputs.batchSize,
        windowSeconds: inputs.maximumBatchingWindowInSeconds,
        maximumConcurrency: inputs.scalingConfig?.maximumConcurrency ?? UNBOUND_CONCURRENCY,
        reportsItemFailures: inputs.functionResponseTypes.length > 0,
      }),
    ),
    schedules: inputsOf('aws:scheduler/schedule:Schedule', scheduleSchema).map(({ inputs }) => ({
      name: inputs.name,
      expression: inputs.scheduleExpression,
      functionName: lastPart(inputs.target.arn),
      event: inputs.target.input,
    })),
  };
}

function lastPart(arn: string): string {
  return arn.split(':').at(-1) ?? arn;
}
