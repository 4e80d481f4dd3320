import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { stackFacts } from '../../packages/capacity-model/src/stack-facts.ts';
import { builtinLanes, SIMULATOR_LANE } from '../../packages/core/src/spec/builtin-lanes.ts';
import {
  directorySchema,
  functionsOf,
  type Graph,
  mappingsOf,
  nameIn,
  queuesOf,
  resourceOf,
  resourcesOf,
  rolesOf,
  synthesize,
  workQueueNames,
} from './graph.ts';

const CANARY_KEY = 'sk-canary-of-the-infra-test';
const CONSUMING = [
  'sqs:ChangeMessageVisibility',
  'sqs:DeleteMessage',
  'sqs:GetQueueAttributes',
  'sqs:ReceiveMessage',
];

describe.each(['test', 'production'])('stack of stage %s', (stage) => {
  const isProduction = stage === 'production';
  let graph: Graph;

  beforeAll(async () => {
    graph = await synthesize(stage, { OpenaiApiKey: CANARY_KEY });
  });

  it('is the same graph each time it is synthesized', async () => {
    const again = await synthesize(stage, { OpenaiApiKey: CANARY_KEY });

    expect(JSON.stringify(again)).toBe(JSON.stringify(graph));
  });

  describe('queues', () => {
    it('are one for each lane', () => {
      const lanes = Object.keys(graph.outputs.laneQueueUrls);
      const names = Object.values(graph.outputs.laneQueueUrls).map(nameIn);

      expect(lanes).toEqual([...Object.keys(builtinLanes), SIMULATOR_LANE]);
      expect(new Set(names).size).toBe(lanes.length);
      expect(names.filter((name) => !queuesOf(graph).has(name))).toEqual([]);
    });

    it('of lanes give up to the DLQ of cells, the others to their own', () => {
      const { laneQueueUrls, deadLetterQueueUrl, controlDeadLetterQueueUrl } = graph.outputs;
      const laneNames = Object.values(laneQueueUrls).map(nameIn);

      for (const name of workQueueNames(graph)) {
        const policy = queuesOf(graph).get(name)?.redrivePolicy;

        expect(nameIn(policy?.deadLetterTargetArn ?? '')).toBe(
          nameIn(laneNames.includes(name) ? deadLetterQueueUrl : controlDeadLetterQueueUrl),
        );
        expect(policy?.maxReceiveCount).toBeGreaterThanOrEqual(5);
      }
    });

    it('keep DLQ messages for 14 days, longer than anything can wait before', () => {
      const retention = (name: string) => queuesOf(graph).get(name)?.messageRetentionSeconds;
      const { deadLetterQueueUrl, controlDeadLetterQueueUrl } = graph.outputs;

      for (const url of [deadLetterQueueUrl, controlDeadLetterQueueUrl]) {
        expect(retention(nameIn(url))).toBe(14 * 86_400);
      }
      for (const name of workQueueNames(graph)) expect(retention(name)).toBe(7 * 86_400);
    });

    it('hide a message for six times as long as its function may run', () => {
      for (const { queue, subscriber, maximumBatchingWindowInSeconds } of mappingsOf(graph)) {
        expect(queue.visibilityTimeoutSeconds).toBeGreaterThanOrEqual(
          6 * subscriber.timeout + maximumBatchingWindowInSeconds,
        );
        expect(queue.visibilityTimeoutSeconds).toBeLessThanOrEqual(12 * 3_600);
      }
    });

    it('are standard queues, encrypted and polled long', () => {
      const queues = [...queuesOf(graph).values()];

      expect(queues.length).toBe(workQueueNames(graph).length + 2);
      for (const queue of queues) {
        expect(queue).toMatchObject({
          fifoQueue: false,
          sqsManagedSseEnabled: true,
          receiveWaitTimeSeconds: 20,
        });
      }
    });
  });

  describe('subscriptions', () => {
    it('join every lane to answer, and plans and finalizations to their functions', () => {
      const joined = mappingsOf(graph).map(({ queue, component }): [string, string] => [
        queue.name,
        component,
      ]);

      const { laneQueueUrls, planQueueUrl, finalizeQueueUrl } = graph.outputs;
      expect(new Map(joined)).toEqual(
        new Map([
          ...Object.values(laneQueueUrls).map((url): [string, string] => [nameIn(url), 'Answer']),
          [nameIn(planQueueUrl), 'Plan'],
          [nameIn(finalizeQueueUrl), 'Finalize'],
        ]),
      );
      expect(joined.length).toBe(workQueueNames(graph).length);
    });

    it('take one message a batch and report the failed ones', () => {
      for (const mapping of mappingsOf(graph)) {
        expect(mapping).toMatchObject({
          batchSize: 1,
          functionResponseTypes: ['ReportBatchItemFailures'],
        });
      }
    });

    it('have shares that add up to what their function has reserved', () => {
      const byFunction = Map.groupBy(mappingsOf(graph), ({ component }) => component);

      expect([...byFunction.keys()].toSorted()).toEqual(['Answer', 'Finalize', 'Plan']);
      for (const mappings of byFunction.values()) {
        const shares = mappings.map(({ scalingConfig }) => scalingConfig.maximumConcurrency);

        expect(Math.min(...shares)).toBeGreaterThanOrEqual(2);
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(
          mappings[0]?.subscriber.reservedConcurrentExecutions,
        );
      }
    });

    it('leave at least 100 invocations of an account of 1,000 to others', () => {
      const reserved = [...functionsOf(graph).values()].map(
        ({ reservedConcurrentExecutions }) => reservedConcurrentExecutions,
      );

      expect(reserved.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(900);
    });
  });

  describe('table', () => {
    it('has its two keys, expiry and recovery, on demand', () => {
      const { inputs } = resourceOf(graph, 'aws:dynamodb/table:Table', z.unknown());

      expect(inputs).toMatchObject({
        name: `thrice-${stage}-ledger`,
        hashKey: 'pk',
        rangeKey: 'sk',
        attributes: [
          { name: 'pk', type: 'S' },
          { name: 'sk', type: 'S' },
        ],
        billingMode: 'PAY_PER_REQUEST',
        pointInTimeRecovery: { enabled: true },
        ttl: { attributeName: 'expiresAt', enabled: true },
        deletionProtectionEnabled: isProduction,
      });
      expect(inputs).not.toHaveProperty('serverSideEncryption');
    });

    it('tells the directory under a fixed key', () => {
      const itemSchema = z.object({ tableName: z.string(), item: z.string() });
      const { inputs } = resourceOf(graph, 'aws:dynamodb/tableItem:TableItem', itemSchema);

      const item = z
        .object({ pk: z.unknown(), sk: z.unknown(), payload: z.object({ S: z.string() }) })
        .parse(JSON.parse(inputs.item));
      const { _protect, ...directory } = graph.outputs;
      expect(inputs.tableName).toBe(graph.outputs.tableName);
      expect(item).toMatchObject({ pk: { S: 'stack' }, sk: { S: 'directory' } });
      expect(directorySchema.parse(JSON.parse(item.payload.S))).toEqual(directory);
    });
  });

  describe('bucket', () => {
    it('blocks public access', () => {
      const type = 'aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock';

      expect(resourceOf(graph, type, z.unknown()).inputs).toEqual({
        bucket: graph.outputs.bucketName,
        blockPublicAcls: true,
        blockPublicPolicy: true,
        ignorePublicAcls: true,
        restrictPublicBuckets: true,
      });
    });

    it('refuses plain HTTP', () => {
      const policySchema = z.object({ bucket: z.string(), policy: z.string() });
      const { inputs } = resourceOf(graph, 'aws:s3/bucketPolicy:BucketPolicy', policySchema);

      const arn = `arn:aws:s3:::${graph.outputs.bucketName}`;
      expect(inputs.bucket).toBe(graph.outputs.bucketName);
      expect(JSON.parse(inputs.policy)).toEqual({
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Deny',
            Action: ['s3:*'],
            Resource: [arn, `${arn}/*`],
            Principal: [{ type: '*', identifiers: ['*'] }],
            Condition: [{ test: 'Bool', variable: 'aws:SecureTransport', values: ['false'] }],
          },
        ],
      });
    });

    it('encrypts, and answers no browser', () => {
      const type =
        'aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration';

      expect(resourceOf(graph, type, z.unknown()).inputs).toEqual({
        bucket: graph.outputs.bucketName,
        rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: 'AES256' } }],
      });
      expect(graph.resources.filter(({ type }) => /cors/i.test(type))).toEqual([]);
    });

    it('keeps replaced versions in production only', () => {
      const type = 'aws:s3/bucketVersioning:BucketVersioning';
      const states = resourcesOf(graph, type, z.unknown()).map(({ inputs }) => inputs);

      const enabled = {
        bucket: graph.outputs.bucketName,
        versioningConfiguration: { status: 'Enabled' },
      };
      expect(states).toEqual(isProduction ? [enabled] : []);
    });
  });

  describe('data', () => {
    it('outlives a removal in production only', () => {
      const table = resourceOf(graph, 'aws:dynamodb/table:Table', z.unknown());
      const bucket = resourceOf(graph, 'aws:s3/bucket:Bucket', z.unknown());

      expect(graph.app).toMatchObject({
        protect: isProduction,
        removal: isProduction ? 'retain' : 'remove',
      });
      for (const { options } of [table, bucket]) {
        expect(options).toMatchObject({ retainOnDelete: isProduction, protect: isProduction });
      }
      expect(bucket.inputs).toMatchObject({ forceDestroy: !isProduction });
    });

    it('is what a removal of another stage takes along, with everything else', () => {
      const kept = graph.resources.filter(
        ({ options }) => options.retainOnDelete || options.protect,
      );

      expect(kept.map(({ type }) => type).toSorted()).toEqual(
        isProduction ? ['aws:dynamodb/table:Table', 'aws:s3/bucket:Bucket'] : [],
      );
    });
  });

  describe('functions', () => {
    it('are four, each with its handler', () => {
      const handlers = graph.builds.map(({ functionID, handler }) => [functionID, handler]);

      expect(Object.fromEntries(handlers)).toEqual({
        Answer: 'functions/answer.handler',
        Plan: 'functions/plan.handler',
        Finalize: 'functions/finalize.handler',
        Reconciler: 'functions/reconcile.handler',
      });
    });

    it('run on Node 24 on ARM', () => {
      for (const lambda of functionsOf(graph).values()) {
        expect(lambda).toMatchObject({ runtime: 'nodejs24.x', architectures: ['arm64'] });
      }
      expect(functionsOf(graph).size).toBe(4);
    });

    it('write JSON logs that are dropped in time', () => {
      const groups = resourcesOf(
        graph,
        'aws:cloudwatch/logGroup:LogGroup',
        z.object({ name: z.string(), retentionInDays: z.number() }),
      );
      const retention = new Map(groups.map(({ inputs }) => [inputs.name, inputs.retentionInDays]));

      for (const { loggingConfig } of functionsOf(graph).values()) {
        expect(loggingConfig.logFormat).toBe('JSON');
        expect(retention.get(loggingConfig.logGroup)).toBe(isProduction ? 90 : 14);
      }
    });

    it('know the directory, and only answer the keys', () => {
      const { _protect, ...directory } = graph.outputs;
      const keyNames = Object.values(builtinLanes).map(({ apiKeyEnv }) => apiKeyEnv);

      for (const { functionID, links } of graph.builds) {
        const { type: _, ...known } = links['Stack'] ?? {};
        expect(known).toEqual(directory);
        expect(Object.keys(links)).toEqual(
          functionID === 'Answer' ? ['Stack', 'ApiKeys'] : ['Stack'],
        );
      }
      const answer = graph.builds.find(({ functionID }) => functionID === 'Answer');
      const { type: _, ...keys } = answer?.links['ApiKeys'] ?? {};
      expect(keys).toEqual({
        ...Object.fromEntries(keyNames.map((name) => [name, ''])),
        OPENAI_API_KEY: CANARY_KEY,
      });
    });

    it('have no key in what AWS is asked for, the environment included', () => {
      const variables = [...functionsOf(graph).values()].map(({ environment }) =>
        Object.keys(environment.variables).toSorted(),
      );

      const tellers = graph.resources.filter(
        ({ type, inputs }) =>
          type.startsWith('aws:') && JSON.stringify(inputs).includes(CANARY_KEY),
      );
      expect(tellers).toEqual([]);
      expect(JSON.stringify(graph.outputs)).not.toContain(CANARY_KEY);
      expect(variables).toEqual(
        Array.from({ length: 4 }, () => ['SST_KEY', 'SST_KEY_FILE', 'SST_RESOURCE_App']),
      );
    });

    it('are reached through queues and the schedule only', () => {
      const doors = graph.resources.filter(({ type }) =>
        /functionUrl|lambda\/permission/.test(type),
      );

      expect(doors).toEqual([]);
    });
  });

  describe('reconciler', () => {
    it('ticks every minute, ends before the next tick and never runs twice at once', () => {
      const schedule = resourceOf(graph, 'aws:scheduler/schedule:Schedule', z.unknown());
      const reconciler = functionsOf(graph).get('Reconciler');

      expect(schedule.inputs).toMatchObject({
        scheduleExpression: 'rate(1 minute)',
        state: 'ENABLED',
        target: { retryPolicy: { maximumRetryAttempts: 2 } },
      });
      expect(reconciler?.timeout).toBeLessThan(60);
      expect(reconciler?.reservedConcurrentExecutions).toBe(1);
    });

    it('leaves undeliverable ticks in the DLQ and does not repeat failed ones', () => {
      const targetSchema = z.object({
        target: z.object({ arn: z.string(), dlqConfig: z.object({ arn: z.string() }) }),
      });
      const { inputs } = resourceOf(graph, 'aws:scheduler/schedule:Schedule', targetSchema);
      const type = 'aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig';

      const reconcilerName = functionsOf(graph).get('Reconciler')?.name;
      expect(nameIn(inputs.target.arn)).toBe(reconcilerName);
      expect(nameIn(inputs.target.dlqConfig.arn)).toBe(
        nameIn(graph.outputs.controlDeadLetterQueueUrl),
      );
      expect(resourceOf(graph, type, z.unknown()).inputs).toEqual({
        functionName: reconcilerName,
        maximumRetryAttempts: 0,
        maximumEventAgeInSeconds: 60,
      });
    });
  });

  describe('permissions', () => {
    it('name every action', () => {
      const actions = rolesOf(graph).flatMap(({ statements }) =>
        statements.flatMap(({ Action }) => Action),
      );

      expect(actions.filter((action) => !/^[a-z0-9]+:[A-Za-z]+$/.test(action))).toEqual([]);
    });

    it('name every resource, and of the bucket its parts', () => {
      const resources = rolesOf(graph).flatMap(({ statements }) =>
        statements.flatMap(({ Resource }) => Resource),
      );

      const bucketArn = `arn:aws:s3:::${graph.outputs.bucketName}`;
      const wide = new Set(resources.filter((resource) => resource.includes('*')));
      expect(wide).toEqual(
        new Set(['questions', 'runs', 'spill'].map((part) => `${bucketArn}/${part}/*`)),
      );
    });

    it('are what each function needs', () => {
      const granted = Object.fromEntries(
        rolesOf(graph).map(({ component, statements }) => [
          component,
          [...new Set(statements.flatMap(({ Action }) => Action))].toSorted(),
        ]),
      );

      const table = (...actions: readonly string[]) =>
        ['BatchGetItem', 'GetItem', 'Query', ...actions]
          .map((action) => `dynamodb:${action}`)
          .toSorted();
      const reading = ['s3:GetObject', 's3:ListBucket'];
      const bucket = ['s3:AbortMultipartUpload', ...reading, 's3:PutObject'];
      const queue = [...CONSUMING, 'sqs:SendMessage'];
      expect(granted).toEqual({
        Answer: [...table('PutItem', 'UpdateItem'), ...bucket, ...queue],
        Plan: [...table('PutItem', 'UpdateItem'), ...reading, ...queue],
        Finalize: [...table('DeleteItem', 'PutItem', 'UpdateItem'), ...bucket, ...queue],
        Reconciler: [
          ...table('DeleteItem'),
          ...bucket,
          'sqs:GetQueueAttributes',
          'sqs:SendMessage',
        ],
        ReconcilerTick: ['lambda:InvokeFunction', 'sqs:SendMessage'],
      });
    });

    it('let a function consume only the queues it is subscribed to', () => {
      const mappings = mappingsOf(graph);

      for (const { component, statements } of rolesOf(graph)) {
        const consumed = statements.flatMap(({ Action, Resource }) =>
          Action.includes('sqs:ReceiveMessage') ? Resource : [],
        );
        const subscribed = mappings.filter((mapping) => mapping.component === component);
        expect(consumed).toEqual(subscribed.map(({ eventSourceArn }) => eventSourceArn));
      }
    });

    it('let only answer send DLQ messages of cells', () => {
      const name = nameIn(graph.outputs.deadLetterQueueUrl);
      const senders = rolesOf(graph).filter(({ statements }) =>
        statements.some(
          ({ Action, Resource }) =>
            Action.includes('sqs:SendMessage') && Resource.some((arn) => nameIn(arn) === name),
        ),
      );

      expect(senders.map(({ component }) => component)).toEqual(['Answer']);
    });

    it('come from AWS itself for writing logs only', () => {
      const managed = rolesOf(graph).flatMap(({ managedPolicyArns }) => managedPolicyArns);

      expect(new Set(managed)).toEqual(
        new Set(['arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole']),
      );
    });

    it('are assumed by Lambda alone, and for the schedule by the scheduler alone', () => {
      const trust = (service: string) => [
        {
          Sid: 'AllowAssumeRole',
          Effect: 'Allow',
          Action: 'sts:AssumeRole',
          Principal: { Service: service },
        },
      ];

      for (const role of rolesOf(graph)) {
        const isSchedule = role.component === 'ReconcilerTick';
        expect(role.trust).toEqual(
          trust(isSchedule ? 'scheduler.amazonaws.com' : 'lambda.amazonaws.com'),
        );
      }
      expect(rolesOf(graph).length).toBe(5);
    });
  });

  it('is as large as docs/cloud.md reckons with', () => {
    const functions = functionsOf(graph);
    const memoryOf = (name: string) => functions.get(name)?.memorySize;
    const alarms = resourcesOf(graph, 'aws:cloudwatch/metricAlarm:MetricAlarm', z.unknown());

    expect(alarms).toHaveLength(stackFacts.alarmCount);
    expect(mappingsOf(graph)).toHaveLength(stackFacts.mappingCount);
    expect(['Answer', 'Plan', 'Finalize', 'Reconciler'].map(memoryOf)).toEqual([
      stackFacts.answerMemoryMb,
      stackFacts.controlMemoryMb,
      stackFacts.controlMemoryMb,
      stackFacts.reconcilerMemoryMb,
    ]);
  });

  describe('alarms', () => {
    const alarmSchema = z.object({
      name: z.string(),
      metricName: z.string(),
      statistic: z.string(),
      comparisonOperator: z.string(),
      threshold: z.number(),
      treatMissingData: z.string(),
      dimensions: z.record(z.string(), z.string()),
      alarmActions: z.array(z.string()),
    });
    const alarmsOf = () =>
      resourcesOf(graph, 'aws:cloudwatch/metricAlarm:MetricAlarm', alarmSchema).map(
        ({ inputs }) => inputs,
      );
    const breakerKeysOf = (metric: string) =>
      alarmsOf()
        .filter(({ metricName }) => metricName === metric)
        .flatMap(({ dimensions }) => Object.values(dimensions));

    it('ring for the first DLQ message', () => {
      const { deadLetterQueueUrl, controlDeadLetterQueueUrl } = graph.outputs;
      const metric = 'ApproximateNumberOfMessagesVisible';

      expect(breakerKeysOf(metric)).toEqual(
        [deadLetterQueueUrl, controlDeadLetterQueueUrl].map(nameIn),
      );
      for (const alarm of alarmsOf().filter(({ metricName }) => metricName === metric)) {
        expect(alarm).toMatchObject({ statistic: 'Maximum', threshold: 1 });
      }
    });

    it('ring for every queue whose oldest message is late, well before it is dropped', () => {
      const metric = 'ApproximateAgeOfOldestMessage';

      expect(breakerKeysOf(metric)).toEqual(workQueueNames(graph));
      for (const alarm of alarmsOf().filter(({ metricName }) => metricName === metric)) {
        expect(alarm.statistic).toBe('Maximum');
        expect(alarm.threshold).toBeLessThanOrEqual(86_400);
      }
    });

    it.each(['Errors', 'Throttles'])('ring for %s of every function', (metric) => {
      const names = [...functionsOf(graph).values()].map(({ name }) => name);

      expect(breakerKeysOf(metric).toSorted()).toEqual(names.toSorted());
      for (const alarm of alarmsOf().filter(({ metricName }) => metricName === metric)) {
        expect(alarm).toMatchObject({ statistic: 'Sum', threshold: 1 });
      }
    });

    it('tell one topic, by names of their stage', () => {
      for (const alarm of alarmsOf()) {
        expect(alarm).toMatchObject({
          comparisonOperator: 'GreaterThanOrEqualToThreshold',
          treatMissingData: 'notBreaching',
          alarmActions: [graph.outputs.alarmTopicArn],
        });
        expect(alarm.name.startsWith(`thrice-${stage}-`)).toBe(true);
      }
    });
  });
});
