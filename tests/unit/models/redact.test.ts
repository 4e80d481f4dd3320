import { describe, expect, it } from 'vitest';
import { createRedact } from '../../../packages/models/src/transport/redact.ts';

const key = 'sk-0123456789abcdef+/ghijklmnop';
const redact = createRedact(key) ?? String;

describe('a key in a text', () => {
  it.each([
    ['in full', key],
    ['its beginning', key.slice(0, 20)],
    ['for a URL', encodeURIComponent(key)],
    ['in base64', Buffer.from(key).toString('base64').replace(/=+$/, '')],
  ])('is cut: %s', (_, form) => {
    expect(redact(`before ${form} after`)).toMatch(/^before \[key\].? after$/);
  });

  // docs/formats/lanes.md says so.
  it.each([
    ['its end', key.slice(-12)],
    ['in hex', Buffer.from(key).toString('hex')],
    ['reversed', [...key].toReversed().join('')],
  ])('is not recognized: %s', (_, form) => {
    expect(redact(form)).toBe(form);
  });
});
