/** A public list price in us-east-1, USD, without free tiers and volume discounts. */
export interface Price {
  readonly service: 'Lambda' | 'SQS' | 'DynamoDB' | 'S3' | 'CloudWatch' | 'EventBridge Scheduler';
  readonly item: string;
  readonly usd: number;
  /** Number of units the price is for. */
  readonly per: number;
  readonly unit: string;
  /** The vendor's page, which is authoritative. A script fills in its figures, so no stored copy has them. */
  readonly page: string;
  /** The page the figure was read on instead. */
  readonly readIn: string;
  /** When that page was written. */
  readonly asOf: string;
}

const MILLION = 1_000_000;
const lambda = {
  service: 'Lambda',
  page: 'https://aws.amazon.com/lambda/pricing/',
  readIn:
    'https://git.mcrn.ar/mariano/lambda_local_runner/src/branch/main/docs/lambdas-md/lambda-13-cost.md',
  asOf: '2026-05',
} as const;
const sqs = {
  service: 'SQS',
  per: MILLION,
  page: 'https://aws.amazon.com/sqs/pricing/',
  readIn: 'https://cloudburn.io/blog/amazon-sqs-pricing',
  asOf: '2026-03',
} as const;
const dynamo = {
  service: 'DynamoDB',
  page: 'https://aws.amazon.com/dynamodb/pricing/on-demand/',
  readIn: 'https://airbyte.com/data-engineering-resources/dynamodb-pricing',
  asOf: '2025-07',
} as const;
const s3 = {
  service: 'S3',
  page: 'https://aws.amazon.com/s3/pricing/',
  readIn:
    'https://devnotes.tech/understanding-aws-s3-pricing-a-complete-cost-breakdown-with-examples',
  asOf: 'undated',
} as const;
const cloudWatch = {
  service: 'CloudWatch',
  page: 'https://aws.amazon.com/cloudwatch/pricing/',
} as const;

/** Every price behind the figures of docs/cloud.md. */
export const prices = {
  /** Arm, the first 7.5 billion GB-seconds per month. */
  lambdaCompute: {
    ...lambda,
    item: 'compute, arm64',
    usd: 0.0000133334,
    per: 1,
    unit: 'GB-second',
  },
  lambdaRequests: { ...lambda, item: 'requests', usd: 0.2, per: MILLION, unit: 'request' },
  sqsRequests: { ...sqs, item: 'requests, standard queue', usd: 0.4, unit: 'request' },
  /** A surcharge for messages with a MessageGroupId; the source does not say which requests count. */
  sqsFairRequests: { ...sqs, item: 'fair queue surcharge', usd: 0.1, unit: 'request' },
  /** On demand, since the price cut of 2024-11. */
  dynamoWrites: { ...dynamo, item: 'writes', usd: 0.625, per: MILLION, unit: 'write unit' },
  dynamoReads: { ...dynamo, item: 'reads', usd: 0.125, per: MILLION, unit: 'read unit' },
  dynamoStorage: {
    ...dynamo,
    item: 'storage',
    usd: 0.25,
    per: 1,
    unit: 'GB-month',
    readIn: 'https://aws.amazon.com/dynamodb/pricing/',
    asOf: 'undated',
  },
  dynamoRecovery: {
    ...dynamo,
    item: 'point-in-time recovery',
    usd: 0.2,
    per: 1,
    unit: 'GB-month',
    readIn: 'https://finops.com.py/services/dynamodb/backups',
    asOf: 'undated',
  },
  s3Puts: { ...s3, item: 'PUT requests', usd: 0.005, per: 1_000, unit: 'request' },
  s3Gets: { ...s3, item: 'GET requests', usd: 0.0004, per: 1_000, unit: 'request' },
  s3Storage: { ...s3, item: 'storage', usd: 0.023, per: 1, unit: 'GB-month' },
  logIngestion: {
    ...cloudWatch,
    item: 'log ingestion',
    usd: 0.5,
    per: 1,
    unit: 'GB',
    readIn: 'https://www.duckbillgroup.com/?p=9080',
    asOf: '2025-05',
  },
  alarms: {
    ...cloudWatch,
    item: 'alarms, standard resolution',
    usd: 0.1,
    per: 1,
    unit: 'alarm-month',
    readIn: 'https://c3x.dev/resources/aws/aws_cloudwatch_metric_alarm',
    asOf: 'undated',
  },
  /** Billed by the hour, for metrics that received data in it. */
  customMetrics: {
    ...cloudWatch,
    item: 'custom metrics',
    usd: 0.3,
    per: 1,
    unit: 'metric-month',
    readIn: 'https://signoz.io/guides/cloudwatch-pricing',
    asOf: '2026-02',
  },
  schedulerInvocations: {
    service: 'EventBridge Scheduler',
    item: 'invocations',
    usd: 1,
    per: MILLION,
    unit: 'invocation',
    page: 'https://aws.amazon.com/eventbridge/pricing/',
    readIn: 'https://cloudburn.io/blog/amazon-eventbridge-pricing',
    asOf: '2026-03',
  },
} as const satisfies Readonly<Record<string, Price>>;

/** One line of a bill. */
export interface CostLine {
  readonly price: Price;
  readonly quantity: number;
  readonly usd: number;
}

/** Prices a quantity. */
export function charge(price: Price, quantity: number): CostLine {
  return { price, quantity, usd: (quantity / price.per) * price.usd };
}

/** The total of a bill, USD. */
export function totalOf(lines: readonly CostLine[]): number {
  return lines.reduce((sum, { usd }) => sum + usd, 0);
}
