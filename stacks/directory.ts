import type { Queues } from './queues.ts';
import type { Storage } from './storage.ts';

/**
 * Where everything of a stage is: one shape, told three ways.
 *
 * To functions as `Resource.Stack`, to whoever deploys as outputs, and to the CLI as an item of the
 * table, whose name (`thrice-<stage>-ledger`) and key (`stack`, `directory`) are fixed: with the stage
 * and credentials it needs nothing else, on any machine.
 */
export function createDirectory({
  storage: { table, bucket },
  queues,
  alarmTopic,
}: {
  readonly storage: Storage;
  readonly queues: Queues;
  readonly alarmTopic: sst.aws.SnsTopic;
}) {
  const entries = {
    stage: $app.stage,
    region: aws.getRegionOutput().region,
    tableName: table.name,
    bucketName: bucket.name,
    laneQueueUrls: Object.fromEntries(queues.lanes.map(({ name, queue }) => [name, queue.url])),
    deadLetterQueueUrl: queues.deadLetterQueue.url,
    controlDeadLetterQueueUrl: queues.controlDeadLetterQueue.url,
    planQueueUrl: queues.plan.url,
    finalizeQueueUrl: queues.finalize.url,
    alarmTopicArn: alarmTopic.arn,
  };
  new aws.dynamodb.TableItem('Directory', {
    tableName: table.name,
    hashKey: 'pk',
    rangeKey: 'sk',
    item: $jsonStringify({
      pk: { S: 'stack' },
      sk: { S: 'directory' },
      schemaVersion: { N: '1' },
      payload: { S: $jsonStringify(entries) },
    }),
  });
  return { entries, link: new sst.Linkable('Stack', { properties: entries }) };
}
