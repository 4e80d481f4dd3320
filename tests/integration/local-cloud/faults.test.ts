import { readFile } from 'node:fs/promises';
import { type AwsRequest, lost } from '@thrice/local-cloud';
import { describe, expect, it } from 'vitest';
import { waitUntil, within } from '../../support/wait-until.ts';
import { holdOrders, orderIn } from './hold-orders.ts';
import { isRunning, openToyCloud, type ToyCloud } from './toy-cloud.ts';

describe.concurrent('faults in a cloud on one machine', { timeout: 60_000 }, () => {
  it('tells which environment asks, and that a poller is none', async () => {
    const seen: AwsRequest[] = [];
    await using toy = await openToyCloud(
      { maximumConcurrency: 1 },
      {
        intercept: async (request, proceed) => {
          seen.push(request);
          return await proceed();
        },
      },
    );

    await toy.send([{ name: 'a' }, { name: 'b' }]);
    await toy.untilEmpty();

    const who = Map.groupBy(seen, ({ operation }) => operation);
    expect([...who].map(([operation, requests]) => [operation, environmentsOf(requests)])).toEqual([
      ['ReceiveMessage', [undefined]],
      ['PutItem', ['Toy-1']],
      ['DeleteMessageBatch', [undefined]],
    ]);
  });

  it('ends a function between two of its requests, and its message comes again', async () => {
    const told: string[] = [];
    let killed: string | undefined;
    await using toy = await openToyCloud(
      { visibilitySeconds: 6 },
      {
        intercept: async (request, proceed) => {
          const name = orderIn(request);
          if (name !== undefined) told.push(name);
          const response = await proceed();
          if (name === 'victim' && killed === undefined) killed = kill(toy, request);
          return response;
        },
      },
    );

    await toy.send([{ name: 'victim', act: 'tell-twice' }]);
    await toy.untilEmpty();

    expect(killed).toBe('Toy-1');
    expect(told).toEqual(['victim', 'victim', 'victim-again']);
    expect(await receiveCountsOf(toy, 'victim')).toEqual([1, 2]);
    expect(await receiveCountsOf(toy, 'victim-again')).toEqual([2]);
    expect(await readFile(toy.cloud.logPath, 'utf8')).toContain('"errorType":"Sandbox.Killed"');
  });

  it('ends a function before its request is done', async () => {
    let killed: string | undefined;
    await using toy = await openToyCloud(
      { visibilitySeconds: 6 },
      {
        intercept: async (request, proceed) => {
          if (orderIn(request) !== 'victim' || killed !== undefined) return await proceed();
          killed = kill(toy, request);
          return lost;
        },
      },
    );

    await toy.send([{ name: 'victim' }]);
    await toy.untilEmpty();

    expect(await receiveCountsOf(toy, 'victim')).toEqual([2]);
  });

  it('ends no other environment than the one it is told', async () => {
    const held = holdOrders('a', 'b');
    await using toy = await openToyCloud({ visibilitySeconds: 6 }, { intercept: held.intercept });
    await toy.send([{ name: 'a' }, { name: 'b' }]);
    const [first] = await Promise.all([held.begun('a'), held.begun('b')]);
    const victim = first.environmentId ?? '';

    expect(toy.cloud.functions.get('Toy')?.kill('Toy-9')).toBe(false);
    expect(toy.cloud.functions.get('Toy')?.kill(victim)).toBe(true);
    held.release('a');
    held.release('b');
    await toy.untilEmpty();

    expect(await receiveCountsOf(toy, 'b')).toEqual([1]);
  });

  it('does not hold up the end while a function waits for an answer', async () => {
    const held = holdOrders('b');
    const toy = await openToyCloud({}, { intercept: held.intercept });
    await toy.send([{ name: 'a', act: 'hang' }, { name: 'b' }]);
    await held.begun('b');
    await waitUntil('the other has begun', async () => (await toy.seen('a')).length === 1);
    const seen = await toy.seen('a');

    await within(10, 'the end', end(toy));

    await waitUntil('it is gone', () => !seen.some(isRunning));
  });

  it('writes what an interceptor throws to the log', async () => {
    let count = 0;
    await using toy = await openToyCloud(
      {},
      {
        intercept: async (request, proceed) => {
          if (orderIn(request) === 'a') count += 1;
          if (count === 1) throw new Error('a bug of the test');
          return await proceed();
        },
      },
    );

    await toy.send([{ name: 'a' }]);
    await toy.untilEmpty();

    const log = await readFile(toy.cloud.logPath, 'utf8');
    expect(log).toMatch(/"platform\.intercept","record":\{"error":"Error: a bug of the test/);
    expect(count).toBe(2);
  });
});

function kill(toy: ToyCloud, { environmentId = '' }: AwsRequest): string {
  if (toy.cloud.functions.get('Toy')?.kill(environmentId) === true) return environmentId;
  throw new Error(`there is no ${environmentId}`);
}

async function end(toy: ToyCloud): Promise<void> {
  await toy[Symbol.asyncDispose]();
}

function environmentsOf(requests: readonly AwsRequest[]) {
  return [...new Set(requests.map(({ environmentId }) => environmentId))];
}

async function receiveCountsOf(toy: ToyCloud, name: string): Promise<readonly number[]> {
  const seen = await toy.seen(name);
  return seen.map(({ receiveCount }) => receiveCount);
}
