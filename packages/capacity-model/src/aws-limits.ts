/** A quota with where it was read; the copies read were stored ones, not the live pages. */
interface Quota {
  readonly value: number;
  readonly source: string;
}

const lambdaGuide = 'https://docs.aws.amazon.com/lambda/latest/dg';
const sqsGuide = 'https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide';
const dynamoGuide = 'https://docs.aws.amazon.com/amazondynamodb/latest/developerguide';

/** Default quotas of AWS that a run can meet (2026-11). */
export const awsLimits = {
  /** Batches of a mapping in work when messages come, and pollers of an idle one. */
  mappingStart: { value: 5, source: `${lambdaGuide}/services-sqs-scaling.html` },
  /** "Up to": taken as one more every 0.2 s. */
  mappingAddedPerMinute: { value: 300, source: `${lambdaGuide}/services-sqs-scaling.html` },
  /** The largest `maximumConcurrency`; without one a mapping goes to 1,250. */
  mappingConcurrency: { value: 1_000, source: `${lambdaGuide}/services-sqs-scaling.html` },
  /** A region's; new accounts start with less. */
  accountConcurrency: { value: 1_000, source: `${lambdaGuide}/gettingstarted-limits.html` },
  /** What reservations have to leave. */
  unreservedConcurrency: { value: 100, source: `${lambdaGuide}/configuration-concurrency.html` },
  /** Execution environments a function gains in 10 s. */
  environmentsPer10Seconds: { value: 1_000, source: `${lambdaGuide}/scaling-behavior.html` },
  /** Messages of a queue in flight, about. */
  inFlightMessages: { value: 120_000, source: `${sqsGuide}/quotas-queues.html` },
  /** What stacks/queues.ts asks for; SQS has 14 days at most. */
  retentionSeconds: { value: 7 * 86_400, source: `${sqsGuide}/quotas-messages.html` },
  partitionWriteUnits: { value: 1_000, source: `${dynamoGuide}/warm-throughput-scenarios.html` },
  partitionReadUnits: { value: 3_000, source: `${dynamoGuide}/warm-throughput-scenarios.html` },
  /** Of a new table on demand; it grows with use. */
  tableWriteUnits: { value: 4_000, source: `${dynamoGuide}/warm-throughput-scenarios.html` },
  tableReadUnits: { value: 12_000, source: `${dynamoGuide}/warm-throughput-scenarios.html` },
  /** GETs a second of a prefix, at least. */
  prefixGets: {
    value: 5_500,
    source: 'https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html',
  },
} as const satisfies Readonly<Record<string, Quota>>;
