import { type Lane, type ModelRequest, type ModelResponse, ThriceError } from '@thrice/core';
import { openModelClients, openTransport } from '@thrice/models';
import { type Fault, type Simulator, type SimulatorClock, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { aLane, aModelRequest } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const startIso = '2026-01-02T03:04:05.000Z';

/** Waits of the simulator end at once. */
const instantClock: SimulatorClock = {
  now: () => Date.parse(startIso),
  sleep: async () => {
    await Promise.resolve();
  },
};

describe.each([
  { protocol: 'responses', isStreamed: false },
  { protocol: 'responses', isStreamed: true },
  { protocol: 'anthropic', isStreamed: false },
  { protocol: 'anthropic', isStreamed: true },
] as const)('the protocol $protocol over the simulator (streamed: $isStreamed)', (mode) => {
  const { protocol, isStreamed } = mode;

  async function start(faults: readonly Fault[] = []): Promise<Simulator> {
    return await startSimulator({ faults: { seed: 7, faults: [...faults] }, clock: instantClock });
  }

  async function sendTo(
    simulator: Simulator,
    parts: Partial<ModelRequest> = {},
    lane: Partial<Lane> = {},
  ): Promise<ModelResponse> {
    const { clientFor, ...clients } = openModelClients({
      keyOf: () => undefined,
      clock: new FakeClock(startIso),
      transport: openTransport({ environment: {} }),
    });
    await using _ = clients;
    const opened = aLane({ protocol, endpoints: [simulator.url], ...lane });
    const request = aModelRequest({ lane: opened, isStreamed, ...parts });
    return await clientFor(opened).send(request, new AbortController().signal);
  }

  it('returns the answer with its model, finish reason and tokens', async () => {
    await using simulator = await start();

    const response = await sendTo(simulator);

    expect(response).toMatchObject({
      servedModel: 'm',
      output: { text: 'The answer is 42.', reasoning: null, refusal: null },
      finishReason: 'stop',
      usage: { inputTokens: 4, cachedInputTokens: 0, outputTokens: 5, reasoningTokens: 0 },
      ttftMs: isStreamed ? (expect.any(Number) as number) : null,
      fault: undefined,
    });
  });

  it('is asked with every parameter that a config has, and refuses none', async () => {
    await using simulator = await start();

    const sent = sendTo(simulator, {
      temperature: 0,
      topP: 0.9,
      maxTokens: 9,
      stop: protocol === 'anthropic' ? ['END'] : undefined,
      serviceTier: 'auto',
      reasoningEffort: 'low',
      tools: [{ name: 'add', parameters: { type: 'object' } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ kind: 'text', text: 'What is 6 x 7?' }] },
      ],
    });

    await expect(sent).resolves.toMatchObject({ output: { text: 'The answer is 42.' } });
  });

  it.each<[Fault, string, Readonly<Record<string, unknown>>]>([
    [{ kind: 'rate-limit', retryAfterSeconds: 3 }, 'model-rate-limited', { retryAfterMs: 3_000 }],
    [{ kind: 'quota' }, 'quota-exhausted', { status: 429 }],
    [{ kind: 'unauthorized' }, 'auth-failed', { status: 401 }],
    [{ kind: 'server-error' }, 'model-unavailable', { status: 500 }],
    [{ kind: 'overloaded' }, 'model-unavailable', { status: 529 }],
    [{ kind: 'reset' }, 'connection-failed', {}],
  ])('rejects %j as %s', async (fault, code, details) => {
    await using simulator = await start([fault]);

    const sent = sendTo(simulator);

    await expect(sent).rejects.toMatchObject({ code, details });
  });

  it.each<[Fault, string]>([
    [{ kind: 'usage-limit', resetSeconds: 30 }, 'quota-exhausted'],
    [{ kind: 'error-object' }, 'model-unavailable'],
    [{ kind: 'reset', afterBytes: 40 }, 'connection-failed'],
    [{ kind: 'truncated-json' }, 'truncated-response'],
    [{ kind: 'no-choices' }, 'truncated-response'],
  ])('returns %j as a paid response with the fault %s', async (fault, code) => {
    await using simulator = await start([fault]);

    const response = await sendTo(simulator);

    expect(response.fault).toMatchObject({ code });
  });

  it.each<[Fault, Partial<ModelResponse>]>([
    [{ kind: 'wrong-model', servedModel: 'cheaper' }, { servedModel: 'cheaper' }],
    [{ kind: 'content-filter' }, { finishReason: 'content-filter' }],
    [{ kind: 'empty-content' }, { finishReason: 'length' }],
  ])('leaves %j to the caller', async (fault, expected) => {
    await using simulator = await start([fault]);

    const response = await sendTo(simulator);

    expect(response).toMatchObject(expected);
    expect(response.fault).toBeUndefined();
  });

  it('returns the tokens of everything that the simulator bills', async () => {
    const rate = 0.15;
    const simulator = await start([
      { kind: 'wrong-model', servedModel: 'cheaper', rate },
      { kind: 'no-choices', rate },
      { kind: 'error-object', rate },
      { kind: 'truncated-json', rate },
      { kind: 'reset', afterBytes: 600, rate },
      { kind: 'rate-limit', rate },
    ]);
    const paid = { inputTokens: 0, outputTokens: 0 };

    for (let index = 0; index < 100; index += 1) {
      const messages = [{ role: 'user' as const, content: `What is 6 x ${index}?` }];
      const sent = await sendTo(simulator, { messages }).catch((error: unknown) => error);
      if (sent instanceof ThriceError) continue;
      const { inputTokens, outputTokens } = (sent as ModelResponse).usage;
      paid.inputTokens += inputTokens ?? 0;
      paid.outputTokens += outputTokens ?? 0;
    }

    await simulator.close();
    const { billed, faultCounts } = simulator.stats();
    expect(Object.keys(faultCounts)).toHaveLength(6);
    expect({ inputTokens: billed.inputTokens, outputTokens: billed.outputTokens }).toEqual(paid);
  });
});
