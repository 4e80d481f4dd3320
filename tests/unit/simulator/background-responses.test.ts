import { type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { SkippingClock } from './simulator-client.ts';

const models = { m: { accuracy: 1, latencyMs: { fixed: 1_000 } } };

interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function request(simulator: Simulator, path: string, init?: RequestInit): Promise<Reply> {
  const response = await fetch(`${simulator.url}/responses${path}`, init);
  return { status: response.status, body: (await response.json()) as Reply['body'] };
}

async function submit(simulator: Simulator): Promise<Reply> {
  const fields = { model: 'm', input: 'Why?', background: true, store: true };
  return await request(simulator, '', { method: 'POST', body: JSON.stringify(fields) });
}

async function start(clock = new SkippingClock()): Promise<Simulator> {
  return await startSimulator({ behaviour: { seed: 1, models }, clock });
}

describe('a simulated response in the background', () => {
  it('is queued, then in progress, then completed with its output and tokens', async () => {
    const clock = new SkippingClock();
    await using simulator = await start(clock);

    const submitted = await submit(simulator);
    clock.nowMs += 500;
    const path = `/${String(submitted.body['id'])}`;
    const halfway = await request(simulator, path);
    clock.nowMs += 500;
    const ended = await request(simulator, path);

    expect(submitted).toMatchObject({ status: 200, body: { status: 'queued', output: [] } });
    expect(halfway).toMatchObject({ status: 200, body: { status: 'in_progress', usage: null } });
    expect(ended.body).toMatchObject({
      id: submitted.body['id'],
      status: 'completed',
      output: [{ type: 'message' }],
      usage: { input_tokens: 1 },
    });
    expect(clock.waitsMs).toEqual([]);
  });

  it('is counted and billed once, however often it is polled', async () => {
    const clock = new SkippingClock();
    await using simulator = await start(clock);

    const path = `/${String((await submit(simulator)).body['id'])}`;
    clock.nowMs += 1_000;
    await request(simulator, path);
    await request(simulator, path);

    expect(simulator.stats()).toMatchObject({ requestCount: 1, okCount: 1, billed: { calls: 1 } });
  });

  it('can be cancelled until it has ended', async () => {
    const clock = new SkippingClock();
    await using simulator = await start(clock);
    const cancel = async ({ body }: Reply) =>
      await request(simulator, `/${String(body['id'])}/cancel`, { method: 'POST' });

    const early = await cancel(await submit(simulator));
    const whole = await submit(simulator);
    clock.nowMs += 1_000;
    const late = await cancel(whole);

    expect(early.body).toMatchObject({ status: 'cancelled', usage: null });
    expect(late.body).toMatchObject({ status: 'completed' });
  });

  it('is unknown to another simulator', async () => {
    await using first = await start();
    await using second = await start();
    await submit(second);

    const id = String((await submit(first)).body['id']);
    const { status, body } = await request(second, `/${id}`);

    expect(status).toBe(404);
    expect(body).toMatchObject({ error: { message: `Response with id '${id}' not found.` } });
  });
});
