import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BoundedRequest,
  boundCall,
  type CallBound,
} from '../../../packages/core/src/pricing/bound-call.ts';

/** A token costs a dollar. */
const price = { input: 1_000_000, output: 1_000_000 };
/** What a request without messages may cost: the words of a chat template, and the two bytes of an empty object. */
const EMPTY_USD = 258;

function aRequest(parts: Partial<BoundedRequest> = {}): BoundedRequest {
  return {
    model: 'm',
    messages: [],
    tools: [],
    maxTokens: 100,
    serviceTier: undefined,
    extraBody: undefined,
    ...parts,
  };
}

function usdOf(bound: CallBound): number | string {
  return bound.kind === 'bounded' ? bound.usd : bound.problem;
}

const image = { kind: 'image', url: 'https://example.org/a.png' } as const;

describe('the bound of a call', () => {
  it('is its prompt at one token per byte, what is around it, and its maximum of output', () => {
    const messages = [{ role: 'user', content: 'Zürich €𝄞' }] as const;

    expect(usdOf(boundCall(aRequest({ messages }), price))).toBe(EMPTY_USD + 16 + 15 + 100);
  });

  it('counts no fewer bytes than UTF-8 has', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (content) => {
        const bound = boundCall(aRequest({ messages: [{ role: 'user', content }] }), price);

        expect(usdOf(bound)).toBe(EMPTY_USD + 16 + Buffer.byteLength(content) + 100);
      }),
    );
  });

  it('takes the dearer kind of input', () => {
    const cached = { input: 1_000_000, cache_write: 2_000_000, output: 0 };

    expect(usdOf(boundCall(aRequest(), cached))).toBe(2 * EMPTY_USD);
  });

  it('takes the dearest service tier that the account may choose, or the one that is asked for', () => {
    const tiered = { ...price, service_tiers: { flex: 0.5, priority: 3 } };
    const of = (serviceTier: string | undefined) =>
      usdOf(boundCall(aRequest({ serviceTier }), tiered));

    expect([of(undefined), of('auto'), of('default'), of('flex')]).toEqual([
      3 * (EMPTY_USD + 100),
      3 * (EMPTY_USD + 100),
      EMPTY_USD + 100,
      0.5 * (EMPTY_USD + 100),
    ]);
    expect(of('scale')).toBe(
      'expected a price of the service tier of the model under a budget, received none',
    );
  });

  it('includes tools, calls of tools and their results', () => {
    const request = aRequest({
      messages: [
        {
          role: 'assistant',
          content: '',
          toolCalls: [{ id: '1', name: 'add', arguments: '{}' }],
        },
        { role: 'tool', toolCallId: '1', content: '42' },
      ],
      tools: [{ name: 'add', parameters: {} }],
    });

    expect(usdOf(boundCall(request, price))).toBeGreaterThan(EMPTY_USD + 100 + 1_024 + 32);
  });

  it('includes the documented tokens of images', () => {
    const messages = [{ role: 'user', content: [image, image] }] as const;
    const of = (model: string) => usdOf(boundCall(aRequest({ model, messages }), price));

    expect(of('openai/gpt-4o-2024-08-06')).toBe(EMPTY_USD + 16 + 100 + 2 * 1_445);
    expect(of('claude-opus-4-8')).toBe(EMPTY_USD + 16 + 100 + 2 * 4_784);
    expect(of('m')).toBe(
      'expected a model under a budget whose tokens per image are documented, received "m" and questions with images; leave such questions out with select, or leave out the budget',
    );
  });

  it('takes the documented maximum of output where the request names none', () => {
    const of = (model: string) =>
      usdOf(boundCall(aRequest({ model, maxTokens: undefined }), price));

    expect(of('gpt-5')).toBe(EMPTY_USD + 128_000);
    expect(of('m')).toBe(
      'expected a maximum of tokens for an answer under a budget, received none, and none is documented for "m"; set max_tokens',
    );
  });

  it.each([
    ['max_tokens', { max_tokens: 700 }, 700],
    ['max_completion_tokens', { max_completion_tokens: 700 }, 700],
    ['max_output_tokens', { max_output_tokens: 700 }, 700],
    ['a smaller maximum than that of the config', { max_completion_tokens: 7 }, 100],
    ['several answers', { n: 3 }, 300],
  ])('follows %s in extra_body', (_, extraBody, outputTokens) => {
    const bytes = JSON.stringify(extraBody).length - 2;

    expect(usdOf(boundCall(aRequest({ extraBody }), price))).toBe(EMPTY_USD + bytes + outputTokens);
  });

  it.each(['messages', 'model', 'tools', 'web_search_options', 'search_parameters', 'plugins'])(
    'does not exist with "%s" in extra_body',
    (field) => {
      expect(boundCall(aRequest({ extraBody: { [field]: [] } }), price)).toMatchObject({
        kind: 'unbounded',
        key: 'extra_body',
      });
    },
  );

  it.each([{ n: 0 }, { n: 'three' }, { max_tokens: 1.5 }])(
    'does not exist with %j in extra_body',
    (extraBody) => {
      expect(boundCall(aRequest({ extraBody }), price)).toMatchObject({
        kind: 'unbounded',
        key: 'extra_body',
      });
    },
  );

  it('does not exist without a price', () => {
    expect(boundCall(aRequest(), undefined)).toEqual({
      kind: 'unbounded',
      key: 'model',
      problem: 'expected a price of the model under a budget, received none',
    });
  });
});
