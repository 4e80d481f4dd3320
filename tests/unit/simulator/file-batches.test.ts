import { type Faults, startSimulator } from '@thrice/simulator';
import OpenAI, { toFile } from 'openai';
import { describe, expect, it } from 'vitest';
import { SkippingClock } from './simulator-client.ts';

const models = { '*': { accuracy: 1 } };

interface Line {
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: { readonly object: string } };
  readonly error: { readonly code: string } | null;
}

/** A simulator, and the vendor's own client of it. */
async function start(batches: NonNullable<Faults['batches']> = {}) {
  const clock = new SkippingClock();
  const faults = { seed: 7, faults: [], batches };
  const simulator = await startSimulator({ behaviour: { seed: 1, models }, faults, clock });
  const client = new OpenAI({ baseURL: simulator.url, apiKey: 'none', maxRetries: 0 });
  return { clock, simulator, client, [Symbol.asyncDispose]: () => simulator.close() };
}

function lineOf(customId: string, parts: { model?: string; url?: string } = {}): string {
  const { model = 'm', url = '/v1/chat/completions' } = parts;
  const body = { model, messages: [{ role: 'user', content: `What is ${customId}?` }] };
  return JSON.stringify({ custom_id: customId, method: 'POST', url, body });
}

async function submit(client: OpenAI, lines: readonly string[]) {
  const file = await toFile(Buffer.from(`${lines.join('\n')}\n`), 'batch.jsonl');
  const { id } = await client.files.create({ file, purpose: 'batch' });
  return await client.batches.create({
    input_file_id: id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    metadata: { thrice_batch_id: 'b1' },
  });
}

async function readLines(client: OpenAI, id: string | null | undefined): Promise<Line[]> {
  const text = await (await client.files.content(id ?? '')).text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const ids = Array.from({ length: 20 }, (_, index) => `q${index}`);
const input = ids.map((id) => lineOf(id));

describe('a simulated batch of OpenAI', () => {
  it('is validated, worked on, finalized and completed as the clock goes on', async () => {
    await using server = await start({ seconds: 100 });
    const { client, clock } = server;

    const submitted = await submit(client, input);
    const seen: string[] = [submitted.status];
    for (const seconds of [20, 75, 5]) {
      clock.nowMs += seconds * 1000;
      seen.push((await client.batches.retrieve(submitted.id)).status);
    }

    expect(seen).toEqual(['validating', 'in_progress', 'finalizing', 'completed']);
  });

  it('answers each request once, in another order, and bills it', async () => {
    await using server = await start();
    const { client, simulator } = server;

    const { id } = await submit(client, input);
    const batch = await client.batches.retrieve(id);
    const lines = await readLines(client, batch.output_file_id);
    const answered = lines.map((line) => line.custom_id);

    expect(batch).toMatchObject({ status: 'completed', error_file_id: null });
    expect(batch.request_counts).toEqual({ total: 20, completed: 20, failed: 0 });
    expect(answered).not.toEqual(ids);
    expect(answered.toSorted()).toEqual(ids.toSorted());
    expect(lines[0]?.response.body.object).toBe('chat.completion');
    expect(simulator.stats().billed.calls).toBe(20);
  });

  it('has failed and expired requests in its error file', async () => {
    await using server = await start({ errorRate: 0.3, expiryRate: 0.3 });
    const { client } = server;

    const { id } = await submit(client, input);
    const batch = await client.batches.retrieve(id);
    const output = await readLines(client, batch.output_file_id);
    const errors = await readLines(client, batch.error_file_id);
    const expired = errors.filter(({ error }) => error?.code === 'batch_expired');
    const failed = errors.filter(({ response }) => (response as unknown) !== null);

    expect(batch.status).toBe('expired');
    expect(output.length + errors.length).toBe(20);
    expect(expired.length).toBeGreaterThan(0);
    expect(failed.map(({ response }) => response.status_code)).toContain(500);
  });

  it('keeps what was answered before it was cancelled', async () => {
    await using server = await start({ seconds: 100 });
    const { client, clock, simulator } = server;

    const { id } = await submit(client, input);
    clock.nowMs += 50_000;
    const cancelling = await client.batches.cancel(id);
    clock.nowMs += 60_000;
    const cancelled = await client.batches.retrieve(id);

    expect([cancelling.status, cancelled.status]).toEqual(['cancelling', 'cancelled']);
    expect(await readLines(client, cancelled.output_file_id)).toHaveLength(10);
    expect(simulator.stats().billed.calls).toBe(10);
  });

  it.each([
    ['a custom ID that is used twice', [lineOf('a'), lineOf('a')], 'duplicate_custom_id'],
    ['two models', [lineOf('a'), lineOf('b', { model: 'other' })], 'mismatched_model'],
    ['two endpoints', [lineOf('a'), lineOf('b', { url: '/v1/responses' })], 'mismatched_url'],
    ['a line that is no JSON', [lineOf('a'), 'oops'], 'invalid_json_line'],
    ['no request', [], 'empty_file'],
    [
      'more requests than the vendor takes',
      Array.from({ length: 50_001 }, (_, index) => lineOf(`${index}`)),
      'too_many_requests',
    ],
  ])('fails its validation for %s', async (_name, lines, code) => {
    await using server = await start();

    const { id } = await submit(server.client, lines);
    const batch = await server.client.batches.retrieve(id);

    expect(batch).toMatchObject({ status: 'failed', output_file_id: null });
    expect(batch.errors?.data?.map((error) => error.code)).toEqual([code]);
    expect(server.simulator.stats().requestCount).toBe(0);
  });

  it('fails its validation as often as it is told to', async () => {
    await using server = await start({ refusedCount: 1 });
    const { client } = server;

    const first = await submit(client, input);
    const second = await submit(client, input);

    expect((await client.batches.retrieve(first.id)).status).toBe('failed');
    expect((await client.batches.retrieve(second.id)).status).toBe('completed');
  });

  it('is refused without the window of a day', async () => {
    await using server = await start();
    const { client } = server;
    const file = await toFile(Buffer.from(lineOf('a')), 'batch.jsonl');
    const { id } = await client.files.create({ file, purpose: 'batch' });

    const refused = client.batches.create({
      input_file_id: id,
      endpoint: '/v1/chat/completions',
      completion_window: '1h' as '24h',
    });

    await expect(refused).rejects.toMatchObject({ status: 400 });
  });

  it('is listed with its metadata, newest first, in pages', async () => {
    await using server = await start();
    const { client } = server;
    const submitted = [];
    for (const line of input.slice(0, 3)) submitted.push((await submit(client, [line])).id);

    const listed = [];
    for await (const batch of client.batches.list({ limit: 2 })) listed.push(batch);

    expect(listed.map(({ id }) => id)).toEqual(submitted.toReversed());
    expect(listed[0]?.metadata).toEqual({ thrice_batch_id: 'b1' });
  });
});
