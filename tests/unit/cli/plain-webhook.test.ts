import { describe, expect, it } from 'vitest';
import { describePlainWebhook } from '../../../packages/cli/src/spec/plain-webhook.ts';
import { aGroupHeader } from '../../support/builders.ts';

const notify = { webhook_env: 'HOOK', on: [] };
const spec = { ...aGroupHeader().spec, notify };

describe('the warning of a webhook that is not encrypted', () => {
  it.each(['http://hooks.example/T0/secret', ' HTTP://10.0.0.7:8080/x\n'])(
    'is given for %j, without it',
    (url) => {
      expect(describePlainWebhook(spec, { HOOK: url })).toBe(
        'notify: expected an https URL in HOOK, received an http one of another machine: whoever is on the way can read the messages, and what is secret in the URL',
      );
    },
  );

  it.each([
    'https://hooks.example/T0/secret',
    'http://127.0.0.1:9000/x',
    'http://localhost/x',
    'http://[::1]:9000/x',
    'no URL',
    '',
  ])('is not given for %j', (url) => {
    expect(describePlainWebhook(spec, { HOOK: url })).toBeUndefined();
  });

  it('is not given without a webhook', () => {
    expect(describePlainWebhook(aGroupHeader().spec, {})).toBeUndefined();
  });
});
