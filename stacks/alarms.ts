import type { Functions } from './functions.ts';
import { pascalCase } from './lanes.ts';
import type { Queues } from './queues.ts';
import { nameInStage } from './stage.ts';

const PERIOD_SECONDS = 300;
/** A lane with a message this old is stuck. SQS deletes its messages after 7 days. */
const LANE_LATE_SECONDS = 86_400;
/** Lower than for lanes, because users wait for planning and finalization. */
const CONTROL_LATE_SECONDS = 3_600;

interface Alarm {
  readonly name: string;
  readonly description: string;
  readonly namespace: 'AWS/Lambda' | 'AWS/SQS';
  readonly metricName: string;
  readonly statistic: 'Maximum' | 'Sum';
  readonly dimensions: Record<string, $util.Input<string>>;
  /** The alarm fires at this value or above. */
  readonly threshold: number;
}

/**
 * Creates the alarms.
 *
 * All notify one topic; subscribe to it manually, since the code contains no addresses.
 */
export function createAlarms({
  queues,
  functions,
  alarmTopic,
}: {
  readonly queues: Queues;
  readonly functions: Functions;
  readonly alarmTopic: sst.aws.SnsTopic;
}): void {
  const alarms = [
    dlqAlarm('dlq-messages', 'A cell failed permanently.', queues.deadLetterQueue),
    dlqAlarm(
      'control-dlq-messages',
      'A plan request, a finalize request, or a reconciler tick failed permanently.',
      queues.controlDeadLetterQueue,
    ),
    ...queues.lanes.map(({ name, queue }) => lateAlarm(`lane-${name}`, queue, LANE_LATE_SECONDS)),
    lateAlarm('plan', queues.plan, CONTROL_LATE_SECONDS),
    lateAlarm('finalize', queues.finalize, CONTROL_LATE_SECONDS),
    ...Object.entries(functions).flatMap(([name, { name: functionName }]) => [
      functionAlarm(name, functionName, 'Errors'),
      functionAlarm(name, functionName, 'Throttles'),
    ]),
  ];
  for (const { name, description, ...metric } of alarms) {
    new aws.cloudwatch.MetricAlarm(`${pascalCase(name)}Alarm`, {
      ...metric,
      name: nameInStage(name),
      alarmDescription: description,
      comparisonOperator: 'GreaterThanOrEqualToThreshold',
      period: PERIOD_SECONDS,
      evaluationPeriods: 1,
      treatMissingData: 'notBreaching',
      alarmActions: [alarmTopic.arn],
    });
  }
}

function dlqAlarm(name: string, description: string, queue: sst.aws.Queue): Alarm {
  return {
    name,
    description,
    namespace: 'AWS/SQS',
    metricName: 'ApproximateNumberOfMessagesVisible',
    statistic: 'Maximum',
    dimensions: { QueueName: queue.nodes.queue.name },
    threshold: 1,
  };
}

function lateAlarm(name: string, queue: sst.aws.Queue, threshold: number): Alarm {
  return {
    name: `${name}-late`,
    description: `The oldest message in this queue is at least ${threshold / 3_600} hours old.`,
    namespace: 'AWS/SQS',
    metricName: 'ApproximateAgeOfOldestMessage',
    statistic: 'Maximum',
    dimensions: { QueueName: queue.nodes.queue.name },
    threshold,
  };
}

/**
 * Alarms for a function that crashes, times out, or cannot start (`Errors`) and for a concurrency
 * reservation that is too small (`Throttles`). Messages whose work fails do not count here; the DLQ
 * alarms cover them.
 */
function functionAlarm(
  name: string,
  functionName: $util.Input<string>,
  metricName: 'Errors' | 'Throttles',
): Alarm {
  return {
    name: `${name}-${metricName.toLowerCase()}`,
    description: `${metricName} of the ${name} function.`,
    namespace: 'AWS/Lambda',
    metricName,
    statistic: 'Sum',
    dimensions: { FunctionName: functionName },
    threshold: 1,
  };
}
