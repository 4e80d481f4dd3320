import { isDeepStrictEqual } from 'node:util';
import type { StepRequest } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../../packages/core/src/calls/fingerprint.ts';
import { aLane, aModelRequest } from '../../support/builders.ts';
import { createTestDigest, sha256 } from '../../support/fake-source-reader.ts';

function aStepRequest(parts: Partial<StepRequest> = {}): StepRequest {
  const { lane: _lane, cell: _cell, step: _step, ...request } = aModelRequest();
  return { ...request, lane: 'lab', isBackground: false, ...parts };
}

function identify(parts: Partial<StepRequest> = {}, lane = aLane()): string {
  return fingerprintOf(aStepRequest(parts), lane, createTestDigest);
}

/** Returns a value with the keys of all its objects in reverse order. */
function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reverseKeys(inner)]),
  );
}

const bodies = fc.dictionary(
  fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
  fc.jsonValue({ noUnicodeString: false }),
  { minKeys: 1 },
);

describe('the fingerprint of a request', () => {
  it('is a SHA-256, the same in every process and release that sends the same', () => {
    const sent =
      '{"lane":"lab","messages":[{"content":"What is 6 x 7?","role":"user"}],"model":"m","protocol":"chat","tools":[]}';

    expect(identify()).toBe(sha256(sent));
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(bodies, (extraBody) => {
        const reversed = reverseKeys(extraBody) as typeof extraBody;

        expect(identify({ extraBody: reversed })).toBe(identify({ extraBody }));
      }),
      { seed: 3 },
    );
  });

  it('differs for bodies that differ in anything', () => {
    fc.assert(
      fc.property(bodies, bodies, (left, right) => {
        const [sentLeft, sentRight] = [left, right].map(
          (body) => JSON.parse(JSON.stringify(body)) as unknown,
        );
        const isSame = isDeepStrictEqual(sentLeft, sentRight);

        expect(identify({ extraBody: left }) === identify({ extraBody: right })).toBe(isSame);
      }),
      { seed: 4 },
    );
  });

  const tool = { name: 'add', description: 'Adds.', parameters: { type: 'object' } };
  it.each<[string, Partial<StepRequest>]>([
    ['model', { model: 'n' }],
    ['messages', { messages: [{ role: 'user', content: 'What is 6 x 8?' }] }],
    ['role of a message', { messages: [{ role: 'system', content: 'What is 6 x 7?' }] }],
    ['tools', { tools: [tool] }],
    ['temperature', { temperature: 0 }],
    ['output limit', { maxTokens: 64 }],
    ['top_p', { topP: 1 }],
    ['seed', { seed: 0 }],
    ['stop texts', { stop: [] }],
    ['service tier', { serviceTier: 'flex' }],
    ['reasoning effort', { reasoningEffort: 'low' }],
    ['extra body', { extraBody: {} }],
  ])('changes with the %s', (_, parts) => {
    expect(identify(parts)).not.toBe(identify());
  });

  it.each([
    ['name', aLane({ name: 'spare' })],
    ['protocol', aLane({ protocol: 'anthropic' })],
  ])("changes with the lane's %s", (_, lane) => {
    expect(identify({}, lane)).not.toBe(identify());
  });

  it('changes with the name of the field for the output limit, where there is a limit', () => {
    const lane = aLane({ maxTokensField: 'max_completion_tokens' });

    expect(identify({}, lane)).toBe(identify());
    expect(identify({ maxTokens: 9 }, lane)).not.toBe(identify({ maxTokens: 9 }));
  });

  it.each<[string, Partial<StepRequest>]>([
    ['streamed', { isStreamed: true }],
    ['prepared in the background', { isBackground: true }],
  ])('is the same whether the answer is %s', (_, parts) => {
    expect(identify(parts)).toBe(identify());
  });

  it.each([
    ['addresses', aLane({ endpoints: ['http://127.0.0.1:1900/v1'] })],
    ['time limit', aLane({ timeoutMs: 1 })],
    ['concurrency', aLane({ maxConcurrency: 1 })],
    ['key', aLane({ apiKeyEnv: 'LAB_API_KEY' })],
  ])("is the same whatever the lane's %s", (_, lane) => {
    expect(identify({}, lane)).toBe(identify());
  });
});
