import type { Functions } from './functions.ts';
import { pascalCase } from './lanes.ts';
import type { Queues } from './queues.ts';
import { nameInStage } from './stage.ts';

const PERIOD_SECONDS = 300;
/** A lane that is this late is stuck, and its messages are lost after 7 days. */
const LATE_SECONDS = 86_400;
/** Plans and finalizations are waited for. */
const CONTROL_LATE_SECONDS = 3_600;

interface Alarm {
  readonly name: string;
  readonly description: string;
  readonly namespace: 'AWS/Lambda' | 'AWS/SQS';
  readonly metricName: string;
  readonly statistic: 'Maximum' | 'Sum';
  readonly dimensions: Record<string, $util.Input<string>>;
  /** The alarm rings at this value and above. */
  readonly threshold: number;
}

/** Alarms, all sent to one topic; subscribe to it by hand, an address is no part of the code. */
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
    dlqAlarm('dead-letters', 'A cell failed for good.', queues.deadLetterQueue),
    dlqAlarm(
      'control-dead-letters',
      'A plan, a finalization or a tick failed for good.',
      queues.controlDeadLetterQueue,
    ),
    ...queues.lanes.map(({ name, queue }) => lateAlarm(`lane-${name}`, queue, LATE_SECONDS)),
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
    description: `The oldest message of this queue has waited for ${threshold / 3_600} h.`,
    namespace: 'AWS/SQS',
    metricName: 'ApproximateAgeOfOldestMessage',
    statistic: 'Maximum',
    dimensions: { QueueName: queue.nodes.queue.name },
    threshold,
  };
}

/**
 * An error is a function that was killed, timed out or could not start, and a throttle says that a
 * reservation is too small. A message whose work failed is reported as such: its alarm is the DLQ messages'.
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
