import { describe, expect, it } from 'vitest';
import { parseStack } from '../../../packages/local-cloud/src/stack.ts';

const mapping = {
  type: 'aws:lambda/eventSourceMapping:EventSourceMapping',
  name: 'Mapping',
  inputs: {
    eventSourceArn: 'arn:aws:sqs:us-east-1:123456789012:work',
    functionName: 'arn:aws:lambda:us-east-1:123456789012:function:worker',
  },
  options: { parent: 'Mapping' },
};
const graphOf = (...resources: readonly unknown[]) => ({
  app: { name: 'toy', stage: 'local' },
  resources,
  builds: [],
});

describe('parseStack', () => {
  it('ignores resources that do not run here', () => {
    const role = { type: 'aws:iam/role:Role', name: 'Role', inputs: {}, options: { parent: 'A' } };

    expect(parseStack(graphOf(role))).toEqual({
      app: { name: 'toy', stage: 'local' },
      tables: [],
      tableItems: [],
      bucketNames: [],
      queues: [],
      functions: [],
      mappings: [],
      schedules: [],
    });
  });

  it('applies the AWS defaults to a mapping', () => {
    expect(parseStack(graphOf(mapping)).mappings).toEqual([
      {
        queueName: 'work',
        queueArn: 'arn:aws:sqs:us-east-1:123456789012:work',
        functionName: 'worker',
        batchSize: 10,
        windowSeconds: 0,
        maximumConcurrency: 1_000,
        reportsItemFailures: false,
      },
    ]);
  });

  it('rejects a mapping with filters', () => {
    const filtered = { ...mapping, inputs: { ...mapping.inputs, filterCriteria: { filters: [] } } };

    expect(() => parseStack(graphOf(filtered))).toThrow('filters are not supported');
  });

  it('rejects a FIFO queue', () => {
    const inputs = { name: 'work', visibilityTimeoutSeconds: 1, fifoQueue: true };
    const queue = { type: 'aws:sqs/queue:Queue', name: 'Q', inputs, options: { parent: 'Q' } };

    expect(() => parseStack(graphOf(queue))).toThrow('fifoQueue');
  });

  it('rejects a function without a build', () => {
    const inputs = {
      name: 'worker',
      handler: 'bundle.handler',
      timeout: 1,
      memorySize: 128,
      environment: { variables: {} },
    };
    const worker = {
      type: 'aws:lambda/function:Function',
      name: 'WorkerFunction',
      inputs,
      options: { parent: 'Worker' },
    };

    expect(() => parseStack(graphOf(worker))).toThrow('Worker has no build');
  });
});
