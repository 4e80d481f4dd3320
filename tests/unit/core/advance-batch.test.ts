import {
  advanceBatch,
  type Batch,
  type BatchClient,
  type BatchWorker,
  batchLimits,
  type CellKey,
  cancelBatch,
  limits,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aBatchedCall, aBenchmark, aLane, anError } from '../../support/builders.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

const never = new AbortController().signal;
const vendorBatch = { endpoint: 'http://127.0.0.1:1800/v1', vendorId: 'batch_1' };

/** A worker with a batch of two calls, and a client that answers as a test says. */
async function open(client: Partial<BatchClient>) {
  const batch = { otherwise: 'batch' } as const;
  const lanes = new Map([['lab', aLane({ batch })]]);
  const engine = new FakeEngine({ benchmark: aBenchmark({ lanes }) });
  const { batches } = engine;
  for (const id of ['q1', 'q2']) await batches.enter('demo', aBatchedCall({ id }), batchLimits);
  const woken: CellKey[] = [];
  const gone = new Set<string>();
  const worker: BatchWorker = {
    ...engine.worker,
    batches,
    batchClientFor: () => ({
      limits: { requestCount: 10, bytes: 1_000, hasOneModel: true },
      submit: () => Promise.resolve(vendorBatch),
      poll: () => Promise.resolve({ kind: 'pending' }),
      results: async function* () {
        await Promise.resolve();
        yield* [];
      },
      cancel: () => Promise.resolve({ kind: 'pending' }),
      find: () => Promise.resolve(undefined),
      ...client,
    }),
    wake: (cells) => {
      woken.push(...cells);
      return Promise.resolve();
    },
    isGone: (owner) => gone.has(owner),
  };
  const read = async (): Promise<Batch | undefined> => (await batches.list('demo'))[0];
  const [gathering] = await batches.list('demo');
  if (gathering?.state !== 'gathering') throw new Error('expected a batch');
  await batches.replace(gathering, { ...gathering, state: 'closed' });
  const step = async (parts: Partial<BatchWorker> = {}) => {
    const latest = await read();
    if (latest === undefined) throw new Error('expected a batch');
    return await advanceBatch(latest, { ...worker, ...parts }, never);
  };
  const stateOf = async (id: string) => await batches.findCall(aBatchedCall({ id }).cell, 'answer');
  return { engine, worker, woken, gone, read, step, stateOf };
}

describe('a batch', () => {
  it('is announced before it is sent, and polled less and less often', async () => {
    const seen: (string | undefined)[] = [];
    const group = await open({
      submit: async ({ requests }) => {
        seen.push((await group.read())?.state, ...Array.from(requests, (each) => each.customId));
        return vendorBatch;
      },
    });

    const delays = [await group.step()];
    for (const ageMs of [10_000, 590_000, 86_400_000]) {
      group.engine.clock.advance(ageMs);
      delays.push(await group.step());
    }

    expect(seen).toEqual(['announced', 'call-q1', 'call-q2']);
    expect(await group.read()).toMatchObject({ state: 'accepted', ...vendorBatch });
    expect(delays).toEqual([limits.pollBaseMs, limits.pollBaseMs, 60_000, limits.batchPollCapMs]);
  });

  it('is looked after by one worker, until that is gone', async () => {
    const group = await open({});
    await group.step();

    const other = { owner: 'worker-2' };
    const before = await group.step(other);
    group.gone.add('worker-1');
    const after = await group.step(other);

    expect([before, after]).toEqual([undefined, limits.pollBaseMs]);
    expect(await group.read()).toMatchObject({ state: 'accepted', owner: 'worker-2' });
  });

  it.each([
    ['auth-failed', { status: 401 }],
    ['quota-exhausted', { status: 429 }],
    ['invalid-request', { status: 400 }],
  ] as const)('that is refused with %s ends, and its cells act on that', async (code, details) => {
    const group = await open({ submit: () => Promise.reject(anError(code, details)) });

    const delay = await group.step();

    expect(delay).toBeUndefined();
    expect(await group.read()).toBeUndefined();
    expect(await group.stateOf('q1')).toMatchObject({ state: 'refused', refusal: { code } });
    expect(group.woken.map(({ id }) => id)).toEqual(['q1', 'q2']);
  });

  it('that nobody knows to be accepted is looked for, and given up after ten minutes', async () => {
    let findCount = 0;
    const group = await open({
      submit: () => Promise.reject(anError('model-timeout')),
      find: () => {
        findCount += 1;
        return Promise.resolve(findCount === 1 ? 'unclear' : undefined);
      },
    });

    await group.step();
    const states = [(await group.read())?.state];
    for (const waitMs of [limits.batchSearchMs, 0]) {
      group.engine.clock.advance(waitMs);
      await group.step();
      states.push((await group.read())?.state);
    }

    expect(states).toEqual(['announced', 'announced', undefined]);
    expect(await group.stateOf('q2')).toMatchObject({
      state: 'refused',
      refusal: { code: 'worker-died' },
    });
  });

  it('that is found again is polled', async () => {
    const group = await open({
      submit: () => Promise.reject(anError('connection-failed')),
      find: () => Promise.resolve(vendorBatch),
    });

    await group.step();
    await group.step();

    expect(await group.read()).toMatchObject({ state: 'accepted', ...vendorBatch });
  });

  it('is asked for again after a poll that fails', async () => {
    const group = await open({ poll: () => Promise.reject(anError('model-unavailable')) });
    await group.step();

    const delay = await group.step();

    expect(delay).toBe(limits.pollBaseMs);
    expect(group.engine.openBreakers.size).toBe(0);
    expect(await group.read()).toMatchObject({ state: 'accepted' });
  });

  it('blocks its lane by a poll that is refused for the key, and stays', async () => {
    const group = await open({ poll: () => Promise.reject(anError('auth-failed')) });
    await group.step();

    await group.step();

    expect([...group.engine.openBreakers.keys()]).toEqual(['lab']);
    expect(await group.read()).toMatchObject({ state: 'accepted' });
    expect(await group.stateOf('q1')).toMatchObject({ state: 'waiting' });
  });

  it('that the vendor has forgotten leaves its cells to the next one, but not right after it was accepted', async () => {
    const group = await open({ poll: () => Promise.reject(anError('unknown-response')) });
    await group.step();

    await group.step();
    const early = (await group.read())?.state;
    group.engine.clock.advance(limits.responseVisibleMs);
    await group.step();

    expect(early).toBe('accepted');
    expect(await group.read()).toBeUndefined();
    expect(await group.stateOf('q1')).toMatchObject({ state: 'unanswered' });
  });

  it('whose results break off is read again', async () => {
    const group = await open({
      poll: () => Promise.resolve({ kind: 'ended', problem: undefined }),
      results: async function* () {
        yield await Promise.resolve({ customId: 'call-q1', kind: 'expired' } as const);
        throw anError('connection-failed');
      },
    });
    await group.step();

    const delay = await group.step();

    expect(delay).toBe(limits.pollBaseMs);
    expect(await group.read()).toMatchObject({ state: 'accepted' });
  });

  it('that is cancelled is read at once if the vendor has stopped by then', async () => {
    const group = await open({
      cancel: () => Promise.resolve({ kind: 'ended', problem: undefined }),
      results: async function* () {
        yield await Promise.resolve({ customId: 'call-q1', kind: 'canceled' } as const);
      },
    });
    await group.step();
    const batch = await group.read();
    if (batch === undefined) throw new Error('expected a batch');

    await cancelBatch(batch, group.worker, never);

    expect(await group.read()).toBeUndefined();
    expect(await group.stateOf('q1')).toMatchObject({ state: 'unanswered' });
  });
});
