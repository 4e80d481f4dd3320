import { type Faults, type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { SkippingClock } from './simulator-client.ts';

const headers = { 'anthropic-version': '2023-06-01', 'content-type': 'application/json' };

async function start(batches: NonNullable<Faults['batches']> = {}) {
  const clock = new SkippingClock();
  const faults = { seed: 7, faults: [], batches };
  const behaviour = { seed: 1, models: { '*': { accuracy: 1 } } };
  const simulator = await startSimulator({ behaviour, faults, clock });
  return { clock, simulator, [Symbol.asyncDispose]: () => simulator.close() };
}

function requestOf(customId: string): object {
  const messages = [{ role: 'user', content: `What is ${customId}?` }];
  return { custom_id: customId, params: { model: 'm', max_tokens: 50, messages } };
}

async function send(simulator: Simulator, path = '', body?: object) {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(`${simulator.url}/messages/batches${path}`, { headers, ...init });
  return { status: response.status, text: await response.text() };
}

async function call(
  simulator: Simulator,
  path = '',
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const { status, text } = await send(simulator, path, body);
  return { status, ...(JSON.parse(text) as Record<string, unknown>) };
}

async function readResults(simulator: Simulator, id: unknown) {
  const { text } = await send(simulator, `/${String(id)}/results`);
  const lines = text.trim().split('\n');
  return lines.map(
    (line) =>
      JSON.parse(line) as {
        custom_id: string;
        result: { type: string; message?: { usage: { service_tier: string } } };
      },
  );
}

const ids = Array.from({ length: 20 }, (_, index) => `q${index}`);
const requests = ids.map(requestOf);

describe('a simulated message batch of Anthropic', () => {
  it('is in progress without results, then ended with those of each request in another order', async () => {
    await using server = await start({ seconds: 10 });
    const { simulator, clock } = server;

    const { id, ...submitted } = await call(simulator, '', { requests });
    const early = await send(simulator, `/${String(id)}/results`);
    clock.nowMs += 10_000;
    const ended = await call(simulator, `/${String(id)}`);
    const results = await readResults(simulator, id);
    const answered = results.map((row) => row.custom_id);

    expect(submitted).toMatchObject({ processing_status: 'in_progress', results_url: null });
    expect(early.status).toBe(400);
    expect(ended).toMatchObject({
      processing_status: 'ended',
      request_counts: { processing: 0, succeeded: 20 },
      results_url: `${simulator.url}/messages/batches/${String(id)}/results`,
    });
    expect(answered).not.toEqual(ids);
    expect(answered.toSorted()).toEqual(ids.toSorted());
    expect(results[0]?.result).toMatchObject({
      type: 'succeeded',
      message: { usage: { service_tier: 'batch' } },
    });
  });

  it('has errored and expired requests among its results', async () => {
    await using server = await start({ errorRate: 0.3, expiryRate: 0.3 });

    const { id } = await call(server.simulator, '', { requests });
    const types = (await readResults(server.simulator, id)).map(({ result }) => result.type);

    expect(new Set(types)).toEqual(new Set(['succeeded', 'errored', 'expired']));
    expect(types).toHaveLength(20);
  });

  it('ends with canceled requests after a cancellation, and bills the others', async () => {
    await using server = await start({ seconds: 100 });
    const { simulator, clock } = server;

    const { id } = await call(simulator, '', { requests });
    clock.nowMs += 50_000;
    const canceling = await call(simulator, `/${String(id)}/cancel`, {});
    clock.nowMs += 60_000;
    const ended = await call(simulator, `/${String(id)}`);

    expect(canceling['processing_status']).toBe('canceling');
    expect(ended).toMatchObject({
      processing_status: 'ended',
      request_counts: { succeeded: 10, canceled: 10 },
    });
    expect(simulator.stats().billed.calls).toBe(10);
  });

  it.each([
    ['a custom ID with other characters', [requestOf('q/1')]],
    ['a custom ID that is too long', [requestOf('q'.repeat(65))]],
    ['a custom ID that is used twice', [requestOf('q1'), requestOf('q1')]],
    ['no request', []],
    [
      'more requests than the vendor takes',
      Array.from({ length: 100_001 }, (_, index) => ({ custom_id: `${index}` })),
    ],
  ])('is refused for %s', async (_name, refused) => {
    await using server = await start();

    const reply = await call(server.simulator, '', { requests: refused });

    expect(reply).toMatchObject({ status: 400, error: { type: 'invalid_request_error' } });
  });
});
