import {
  type BatchClient,
  type BatchRequest,
  type Lane,
  type LostBatch,
  type Protocol,
  ThriceError,
} from '@thrice/core';
import { type Faults, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { aLane, aModelRequest } from '../support/builders.ts';
import { collect } from '../support/collect.ts';
import { sendJson, startHttpServer } from '../support/http-server.ts';

/** Opens a client whose lanes have this key. */
export type OpenBatchClient = (lane: Lane, key?: string) => BatchClient & AsyncDisposable;

const never = new AbortController().signal;
const canary = 'sk-canary-5f1e0c9a77d24b';
const ids = Array.from({ length: 20 }, (_, index) => `q${index}`);

/** A simulated vendor whose clock a test moves, and a client of it. */
async function start(
  protocol: Protocol,
  openClient: OpenBatchClient,
  batches: NonNullable<Faults['batches']>,
) {
  let nowMs = 1_767_323_045_000;
  const clock = { now: () => nowMs, sleep: () => Promise.resolve() };
  const behaviour = { seed: 1, models: { '*': { accuracy: 1 } } };
  const faults = { seed: 7, faults: [], batches };
  const simulator = await startSimulator({ behaviour, faults, clock });
  const lane = aLane({ protocol, endpoints: [simulator.url] });
  const client = openClient(lane);
  return {
    simulator,
    lane,
    client,
    get nowMs() {
      return nowMs;
    },
    pass: (seconds: number) => {
      nowMs += seconds * 1000;
    },
    submit: async (batchId = 'b1', requests: Iterable<BatchRequest> = requestsOf(lane)) =>
      await client.submit({ lane, batchId, requests }, never),
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await simulator.close();
    },
  };
}

function requestsOf(lane: Lane, customIds: readonly string[] = ids): readonly BatchRequest[] {
  return customIds.map((customId) => ({
    customId,
    request: aModelRequest({
      lane,
      maxTokens: 50,
      messages: [{ role: 'user', content: `What is ${customId}?` }],
    }),
  }));
}

/** The promises of {@link BatchClient}, for a wire protocol. */
export function describeBatchClientContract(protocol: Protocol, openClient: OpenBatchClient): void {
  const startVendor = async (batches: NonNullable<Faults['batches']> = {}) =>
    await start(protocol, openClient, batches);

  describe(`the batch client of ${protocol}`, () => {
    it('submits requests, waits for their end, and reads an answer for each', async () => {
      await using vendor = await startVendor({ seconds: 100 });
      const { client, lane } = vendor;

      const batch = await vendor.submit();
      vendor.pass(50);
      const halfway = await client.poll(lane, batch, never);
      vendor.pass(50);
      const ended = await client.poll(lane, batch, never);
      const results = await collect(client.results(lane, batch, never));

      expect(halfway).toEqual({ kind: 'pending' });
      expect(ended).toEqual({ kind: 'ended', problem: undefined });
      expect(results.map(({ customId }) => customId).toSorted()).toEqual(ids.toSorted());
      for (const result of results) {
        expect(result).toMatchObject({
          kind: 'answered',
          response: {
            endpoint: lane.endpoints[0],
            servedModel: 'm',
            finishReason: 'stop',
            fault: undefined,
            usage: { outputTokens: expect.any(Number) as number, serviceTier: 'batch' },
          },
        });
      }
    });

    it('reads the same results again', async () => {
      await using vendor = await startVendor({ errorRate: 0.3 });
      const { client, lane } = vendor;

      const batch = await vendor.submit();
      const first = await collect(client.results(lane, batch, never));
      const second = await collect(client.results(lane, batch, never));

      expect(first).toHaveLength(20);
      expect(second.map(({ customId }) => customId)).toEqual(first.map((each) => each.customId));
    });

    it('tells refused and expired requests from answered ones', async () => {
      await using vendor = await startVendor({ errorRate: 0.3, expiryRate: 0.3 });
      const { client, lane } = vendor;

      const batch = await vendor.submit();
      const results = await collect(client.results(lane, batch, never));
      const kinds = results.map(({ kind }) => kind);
      const errors = results.flatMap((result) => (result.kind === 'refused' ? [result.error] : []));

      expect(new Set(kinds)).toEqual(new Set(['answered', 'refused', 'expired']));
      expect(kinds).toHaveLength(20);
      expect(errors.map((error) => error.code)).toContain('model-unavailable');
      expect(errors.every((error) => error.details.latencyMs === undefined)).toBe(true);
    });

    it('cancels, and keeps what was answered before', async () => {
      await using vendor = await startVendor({ seconds: 100 });
      const { client, lane } = vendor;

      const batch = await vendor.submit();
      vendor.pass(50);
      const canceling = await client.cancel(lane, batch, never);
      vendor.pass(50);
      const ended = await client.poll(lane, batch, never);
      const results = await collect(client.results(lane, batch, never));
      const kinds = results.map(({ kind }) => kind).filter((kind) => kind !== 'canceled');

      expect(canceling).toEqual({ kind: 'pending' });
      expect(ended).toEqual({ kind: 'ended', problem: undefined });
      expect(kinds).toEqual(Array.from({ length: 10 }, () => 'answered'));
    });

    it('says how far a batch is that was cancelled before, or has ended', async () => {
      await using vendor = await startVendor({ seconds: 100 });
      const { client, lane } = vendor;

      const batch = await vendor.submit();
      await client.cancel(lane, batch, never);
      const again = await client.cancel(lane, batch, never);
      vendor.pass(100);
      const late = await client.cancel(lane, batch, never);

      expect(again).toEqual({ kind: 'pending' });
      expect(late).toEqual({ kind: 'ended', problem: undefined });
    });

    it('has no results of a batch that has not ended', async () => {
      await using vendor = await startVendor({ seconds: 100 });
      const { client, lane } = vendor;

      const batch = await vendor.submit();

      await expect(collect(client.results(lane, batch, never))).rejects.toMatchObject({
        code: 'invalid-request',
      });
    });

    it('says that the vendor does not know a batch', async () => {
      await using vendor = await startVendor();
      const { client, lane } = vendor;
      const unknown = { endpoint: vendor.simulator.url, vendorId: 'batch_0000' };

      await expect(client.poll(lane, unknown, never)).rejects.toMatchObject({
        code: 'unknown-response',
      });
      await expect(client.cancel(lane, unknown, never)).rejects.toMatchObject({
        code: 'unknown-response',
      });
    });

    it('finds a batch whose submission had no response, once it has ended at the latest', async () => {
      await using vendor = await startVendor({ seconds: 100 });
      const { client, lane } = vendor;
      const sentAtMs = vendor.nowMs;
      const customIds = new Set(ids);
      const find = async (parts: Partial<LostBatch> = {}) =>
        await client.find(
          lane,
          { batchId: 'b1', sentAtMs, customIds, others: new Set(), ...parts },
          never,
        );

      const batch = await vendor.submit('b1');
      const early = await find();
      for (let count = 0; count < 120; count += 1) {
        await vendor.submit(`later${count}`, requestsOf(lane, ['q0']));
      }
      vendor.pass(100);

      expect(early).toEqual(protocol === 'anthropic' ? 'unclear' : batch);
      expect(await find()).toEqual(batch);
      const others = new Set(ids.map((id) => `other-${id}`));
      expect(await find({ batchId: 'b2', customIds: others })).toBeUndefined();
    });

    it('takes no batch for a lost one that is known to be another, or is older', async () => {
      await using vendor = await startVendor({ seconds: 100 });
      const { client, lane } = vendor;

      const { vendorId } = await vendor.submit('else');
      const lost = { batchId: 'b1', sentAtMs: vendor.nowMs, customIds: new Set(ids) };
      const known = await client.find(lane, { ...lost, others: new Set([vendorId]) }, never);
      const sentAtMs = vendor.nowMs + 3_600_000;
      const older = await client.find(lane, { ...lost, sentAtMs, others: new Set() }, never);

      expect([known, older]).toEqual([undefined, undefined]);
    });

    it('sends no batch that is empty or larger than the vendor takes', async () => {
      await using vendor = await startVendor();
      const { client, lane } = vendor;
      const [request] = requestsOf(lane, ['q0']);
      const tooMany = Array.from({ length: client.limits.requestCount + 1 }, () => request);
      const given = tooMany.filter((each) => each !== undefined);

      await expect(vendor.submit('b1', [])).rejects.toMatchObject({ code: 'invalid-request' });
      await expect(vendor.submit('b1', given)).rejects.toMatchObject({ code: 'invalid-request' });
    });

    it('maps a refusal as that of a call, and removes the key from it', async () => {
      const error = { type: 'authentication_error', message: `invalid key ${canary}` };
      await using server = await startHttpServer((response) => {
        sendJson(response, { type: 'error', error }, { status: 401 });
      });
      const lane = aLane({ protocol, endpoints: [server.url] });
      await using client = openClient(lane, canary);

      const failure: unknown = await client
        .poll(lane, { endpoint: server.url, vendorId: 'b' }, never)
        .catch((thrown: unknown) => thrown);

      expect(failure).toMatchObject({ code: 'auth-failed' });
      expect(String(failure)).not.toContain(canary);
    });

    it('is stopped by its signal', async () => {
      await using server = await startHttpServer(() => undefined);
      const lane = aLane({ protocol, endpoints: [server.url] });
      await using client = openClient(lane);
      const stop = new AbortController();

      const polled = client.poll(lane, { endpoint: server.url, vendorId: 'b' }, stop.signal);
      stop.abort(new ThriceError({ code: 'interrupted', message: 'stop' }));

      await expect(polled).rejects.toMatchObject({ code: 'interrupted' });
    });
  });
}
