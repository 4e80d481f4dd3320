import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mapLimitText } from '../../../packages/models/src/vendors/map-limit-text.ts';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';

function readRows<Row>(name: string): Row[] {
  const text = readFileSync(join(sharedDataDir, name), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');

describe('mapLimitText', () => {
  it.each([
    'Claude AI usage limit reached.',
    'usage limit reached|1753441200',
    "🖐 You've hit your usage limit. Try again in 2 hours 1 minute.",
    'You’ve hit your weekly limit · resets Oct 3, 9am',
    "  You're out of extra usage · resets 7:30pm (Asia/Calcutta)\n",
  ])('recognizes %j as an exhausted quota', (text) => {
    expect(mapLimitText(text, nowMs)).toMatchObject({
      code: 'quota-exhausted',
      message: text.trim(),
    });
  });

  it('reads the reset time that a notice names', () => {
    const error = mapLimitText('Claude AI usage limit reached|1753441200', nowMs);

    expect(error?.details.resetAt).toBe('2025-07-25T11:00:00.000Z');
  });

  it('recognizes an error that it quotes without its status by the form of the vendor', () => {
    const text = 'API Error: {"type":"error","error":{"type":"overloaded_error"}}';

    expect(mapLimitText(text, nowMs)?.code).toBe('model-unavailable');
  });

  it('recognizes a rate limit', () => {
    expect(mapLimitText('API Error: Rate limit reached', nowMs)?.code).toBe('model-rate-limited');
  });

  it.each([
    '',
    '42',
    'Usage limit reached.',
    'error code usage limit reached',
    'Your rate limit resets on Monday.',
    "You've hit your usage limit.",
    'API Error: {"error": "insufficient_quota"}',
    'The usage limit reached its maximum in 1987.',
    'The answer is: usage limit reached',
    'Once the usage limit reached zero, the machine stopped.',
    'usage limit reached|soon',
    "You've hit your limit",
    `${'x '.repeat(120)}usage limit reached`,
    'API Error: Rate limit reached. So the answer is (B).',
    'usage limit reached\nThe answer is 42.',
  ])('reads %j as an answer', (text) => {
    expect(mapLimitText(text, nowMs)).toBeUndefined();
  });

  describe.runIf(hasSharedData)('on recorded texts', () => {
    it('maps every notice recorded from stdout or a terminal to its class', () => {
      const vectors = readRows<{ text: string; stream: string; class: string }>(
        'echo/exhaustion_vectors.jsonl',
      ).filter(({ stream }) => stream === 'stdout' || stream === 'tty');

      const found = vectors.map(({ text }) => mapLimitText(text, nowMs)?.class);

      expect(vectors).toHaveLength(4);
      expect(found).toEqual(vectors.map((vector) => vector.class));
    });

    it.each([
      ['bbh/codex_direct.jsonl', 6_511],
      ['bbh/codex_cot.jsonl', 3_187],
    ])('reads every prediction of %s as an answer', (name, count) => {
      const predictions = readRows<{ prediction: string }>(name).map(
        ({ prediction }) => prediction,
      );

      const errors = predictions.filter((text) => mapLimitText(text, nowMs) !== undefined);

      expect(predictions).toHaveLength(count);
      expect(errors).toEqual([]);
    });
  });
});
