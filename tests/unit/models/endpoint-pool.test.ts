import { describe, expect, it } from 'vitest';
import { EndpointPool } from '../../../packages/models/src/call/endpoint-pool.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function poolOf(...endpoints: [string, ...string[]]) {
  const clock = new FakeClock();
  const pool = new EndpointPool(endpoints, { monotonicMs: () => clock.monotonicMs() });
  /** The endpoints of the next calls, which all fail to connect to `dead` and are answered by the others. */
  const call = (count: number, dead: readonly string[]) =>
    Array.from({ length: count }, () => {
      const { endpoint, end } = pool.choose();
      end(dead.includes(endpoint) ? 'unreachable' : 'responded');
      return endpoint;
    });
  return { clock, pool, call };
}

describe('a pool of endpoints', () => {
  it('chooses the endpoint with the fewest calls in flight', () => {
    const { pool } = poolOf('a', 'b', 'c');

    const chosen = [pool.choose(), pool.choose(), pool.choose()];
    chosen[1]?.end('responded');

    expect(chosen.map(({ endpoint }) => endpoint)).toEqual(['a', 'b', 'c']);
    expect(pool.choose().endpoint).toBe('b');
  });

  it('sends a single call to an endpoint that refuses, although it is always idle', () => {
    const { call } = poolOf('dead', 'live');

    expect(call(5, ['dead'])).toEqual(['dead', 'live', 'live', 'live', 'live']);
  });

  it('probes a dead endpoint with one call, after waits that double up to a minute', () => {
    const { clock, call } = poolOf('dead', 'live');
    call(1, ['dead']);
    const probesAtMs: number[] = [];

    for (let second = 1; second <= 200; second += 1) {
      clock.advance(1_000);
      if (call(3, ['dead']).includes('dead')) probesAtMs.push(clock.monotonicMs());
    }

    expect(probesAtMs).toEqual([1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000, 183_000]);
  });

  it('sends no second call to an endpoint while its probe is in flight', () => {
    const { clock, pool, call } = poolOf('dead', 'live');
    call(1, ['dead']);
    clock.advance(1_000);

    const probe = pool.choose();

    expect([probe.endpoint, pool.choose().endpoint]).toEqual(['dead', 'live']);
  });

  it('takes an endpoint back that answers its probe, and forgets its failures', () => {
    const { clock, pool, call } = poolOf('dead', 'live');
    call(1, ['dead']);
    clock.advance(1_000);

    call(1, []);
    const chosen = [pool.choose().endpoint, pool.choose().endpoint];
    call(1, ['dead', 'live']);
    clock.advance(1_000);

    expect(chosen).toEqual(['dead', 'live']);
    expect(call(1, [])).toEqual(['dead']);
  });

  it('probes again after a probe that was stopped', () => {
    const { clock, pool, call } = poolOf('dead', 'live');
    call(1, ['dead']);
    clock.advance(1_000);

    pool.choose().end('unknown');

    expect(pool.choose().endpoint).toBe('dead');
  });

  it('counts the failures of calls that were in flight together as one', () => {
    const { clock, pool } = poolOf('dead', 'live');
    const together = Array.from({ length: 6 }, () => pool.choose());

    clock.advance(10);
    for (const { endpoint, end } of together)
      end(endpoint === 'dead' ? 'unreachable' : 'responded');
    const chosen = [pool.choose().endpoint];
    clock.advance(1_000);
    chosen.push(pool.choose().endpoint);

    expect(chosen).toEqual(['live', 'dead']);
  });

  it('has none that is healthy when its only one sits out, and uses that', () => {
    const { pool, call } = poolOf('only');
    const before = pool.hasHealthy;

    call(1, ['only']);

    expect([before, pool.hasHealthy, pool.choose().endpoint]).toEqual([true, false, 'only']);
  });

  it('keeps an endpoint through two server errors, and sends it out after three in a row', () => {
    const { pool } = poolOf('a', 'b');
    const fail = () => {
      const { endpoint, end } = pool.choose();
      end('failing');
      return endpoint;
    };

    expect([fail(), fail(), fail(), fail()]).toEqual(['a', 'a', 'a', 'b']);
  });

  it('uses the endpoint that is due first when all sit out', () => {
    const { clock, pool, call } = poolOf('a', 'b');
    call(1, ['a']);
    clock.advance(500);
    call(1, ['b']);

    expect(pool.hasHealthy).toBe(false);
    expect([pool.choose().endpoint, pool.choose().endpoint]).toEqual(['a', 'a']);
  });
});
