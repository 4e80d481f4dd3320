import { describe, expect, it } from 'vitest';
import { refuseOtherWebhook } from '../../../packages/cli/src/stage/stage-webhook.ts';

describe('the webhook of a group in a stage', () => {
  const on: ['end'] = ['end'];

  it.each([
    undefined,
    { webhook_env: 'THRICE_WEBHOOK', on },
    { webhook_env: 'THRICE_WEBHOOK', secret_env: 'THRICE_WEBHOOK_SECRET', on },
  ])('can be that of the stage: %o', (notify) => {
    expect(() => refuseOtherWebhook({ notify })).not.toThrow();
  });

  it.each([
    { webhook_env: 'MY_HOOK', on },
    { webhook_env: 'THRICE_WEBHOOK', secret_env: 'MY_SECRET', on },
  ])('cannot be another: %o', (notify) => {
    expect(() => refuseOtherWebhook({ notify })).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });
});
