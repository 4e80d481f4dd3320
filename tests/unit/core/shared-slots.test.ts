import { limits, type PermitRequest, SharedGovernor, UNLIMITED } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { freePace } from '../../../packages/core/src/domain/lanes/lane-pace.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLanePaces } from '../../support/fake-lane-paces.ts';
import { FakeLaneSlots } from '../../support/fake-lane-slots.ts';
import { answered } from '../../support/permits.ts';

/** Workers of a stage on a lane, each a process of its own. */
function openStage() {
  const clock = new FakeClock();
  const slots = new FakeLaneSlots();
  const paces = new FakeLanePaces();
  let tokenNo = 0;
  const createToken = () => {
    tokenNo += 1;
    return `token-${tokenNo}`;
  };
  const random = () => 0;
  const open = () => new SharedGovernor({ paces, slots, clock, random, createToken });
  const ask = async (parts: Partial<PermitRequest> = {}, governor = open()) => {
    const grant = await governor.forCell().grant({
      ...{ group: 'demo', lane: 'lab', model: 'm', limits: UNLIMITED, maxConcurrency: 1 },
      ...{ inputTokens: 10, estimatedTokens: null, canWait: () => true },
      signal: new AbortController().signal,
      ...parts,
    });
    return grant;
  };
  const take = async (parts: Partial<PermitRequest> = {}, governor = open()) => {
    const grant = await ask(parts, governor);
    if (grant.kind !== 'granted') throw new Error('expected a permit');
    return grant.permit;
  };
  const readLab = async () => {
    const use = await slots.read('lab');
    if (use === undefined) throw new Error('expected slots of lab');
    return use;
  };
  /** Passes time until so much has passed, with every sleep that ends until then. */
  const pass = async (ms: number) => {
    const endMs = clock.monotonicMs() + ms;
    for (;;) {
      await new Promise(setImmediate);
      const nextMs = clock.nextDueInMs;
      const leftMs = endMs - clock.monotonicMs();
      if (nextMs === undefined || nextMs > leftMs) {
        clock.advance(leftMs);
        await new Promise(setImmediate);
        return;
      }
      clock.advance(nextMs);
    }
  };
  return { clock, slots, paces, open, ask, take, readLab, pass };
}

describe('the slots of a lane in a stage', () => {
  it('are not asked for where no spec limits the calls in flight', async () => {
    const stage = openStage();

    const permit = await stage.take({ maxConcurrency: null });
    await permit.settle(answered);

    expect(stage.slots.log).toEqual([]);
  });

  it('are held as long as the call lasts, and free a minute after their holder died', async () => {
    const stage = openStage();
    const long = await stage.take();
    await stage.pass(200_000);
    const during = await stage.readLab();
    stage.slots.onCall = (method) => {
      if (method === 'extend') throw new Error('it has died');
    };
    const waiting = stage.take();
    await stage.pass(limits.leaseMs + 2_000);

    expect(during.held).toHaveLength(1);
    expect((await waiting).waitMs).toBeGreaterThan(limits.leaseMs - limits.heartbeatMs);
    // It is counted once, although its holder returns it in the end.
    await long.settle(answered);
    expect((await stage.readLab()).inUse).toBe(1);
  });

  it('go to the caller that waits longest, not to one that comes', async () => {
    const stage = openStage();
    const order: string[] = [];
    const first = await stage.take();
    const waiting = stage.take().then((permit) => {
      order.push('waiting');
      return permit;
    });
    await stage.pass(1_000);
    await first.settle(answered);

    const coming = stage.take().then(() => order.push('coming'));
    await stage.pass(1_000);
    await (await waiting).settle(answered);
    await stage.pass(1_000);
    await coming;

    expect(order).toEqual(['waiting', 'coming']);
  });

  it('go to the next caller when those before it have died while they waited', async () => {
    const stage = openStage();
    const first = await stage.take();
    const dead = new AbortController();
    const lost = stage.ask({ signal: dead.signal }).catch(() => 'lost');
    await stage.pass(100);
    const next = stage.take();
    await stage.pass(100);
    dead.abort();

    await first.settle(answered);
    await stage.pass(4_000);

    expect(await lost).toBe('lost');
    expect((await next).waitMs).toBeLessThan(4_000);
  });

  it('send a cell back that would wait too long, to return when one may be free', async () => {
    const stage = openStage();
    const slow = await stage.take();
    await stage.pass(100_000);
    await slow.settle(answered);
    await stage.take();

    const grants = [await stage.ask(), await stage.ask()];

    // Calls take 100 seconds: one returns before the next, the other when that has ended.
    const atMs = stage.clock.now() + 100_000 - limits.laneWaitMs / 2;
    expect(grants).toEqual([
      { kind: 'not-before', atMs },
      { kind: 'not-before', atMs: atMs + 100_000 },
    ]);
    expect(stage.slots.log).not.toContain('join');
  });

  it('send a cell back whose function has no time to wait', async () => {
    const stage = openStage();
    await stage.take();

    const grant = await stage.ask({ canWait: () => false });

    expect(grant).toMatchObject({ kind: 'not-before' });
    expect(stage.slots.log).not.toContain('join');
  });

  it('end the wait of a cell that is stopped', async () => {
    const stage = openStage();
    await stage.take();
    const stop = new AbortController();
    const waiting = stage.ask({ signal: stop.signal });
    await stage.pass(1_000);

    stop.abort();

    await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
  });

  it('follow a limit that an edit of the spec has changed', async () => {
    const stage = openStage();
    const governor = stage.open();
    await stage.take({}, governor);

    const more = await stage.take({ maxConcurrency: 2 }, governor);

    expect(more.waitMs).toBe(0);
    expect((await stage.readLab()).inUse).toBe(2);
  });

  it('keep the limit of later callers while those before the edit still wait', async () => {
    const stage = openStage();
    const first = await stage.take({ maxConcurrency: 1 });
    const waiting = stage.take({ maxConcurrency: 1 });
    await stage.pass(1_000);
    const coming = stage.take({ maxConcurrency: 2 });
    await stage.pass(3_000);
    await waiting;
    await first.settle(answered);
    await stage.pass(3_000);
    await coming;

    expect((await stage.readLab()).groups).toMatchObject([{ maxConcurrency: 2 }]);
    expect(stage.slots.log.filter((method) => method === 'replace')).toHaveLength(2);
  });

  it('are returned although the call cannot be counted', async () => {
    const stage = openStage();
    const pace = freePace('lab', 'token');
    const evidence = { ...pace.evidence, weighedAtMs: stage.clock.now() };
    await stage.paces.replace(undefined, { ...pace, evidence });
    stage.paces.count = async () => {
      throw new Error('the table is away');
    };

    const permit = await stage.take();
    await permit.settle(answered);

    expect((await stage.readLab()).inUse).toBe(0);
  });

  it('do not fail a call whose slot cannot be returned', async () => {
    const stage = openStage();
    const permit = await stage.take();
    stage.slots.onCall = () => {
      throw new Error('the table is away');
    };

    expect(await permit.settle(answered)).toEqual({ delayMs: 0, hasOnlyRefused: false });
  });
});
