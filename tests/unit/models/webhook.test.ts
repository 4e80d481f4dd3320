import { describe, expect, it } from 'vitest';
import { signWebhook } from '../../../packages/models/src/webhook/sign-webhook.ts';
import { webhookBody } from '../../../packages/models/src/webhook/webhook-body.ts';
import { aNotification } from '../../support/builders.ts';

describe('the signature of a webhook', () => {
  it('is that of the example that Svix, where the scheme comes from, has in its docs', () => {
    // https://docs.svix.com/receiving/verifying-payloads/how-manual (2026-11)
    const signature = signWebhook({
      id: 'msg_loFOjxBNrRLzqYUf',
      nowMs: 1_731_705_121_999,
      body: '{"event_type":"ping","data":{"success":true}}',
      secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
    });

    expect(signature).toEqual({
      'webhook-id': 'msg_loFOjxBNrRLzqYUf',
      'webhook-timestamp': '1731705121',
      'webhook-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
    });
  });

  it('takes a secret without the prefix as it is', () => {
    const sign = (secret: string) => signWebhook({ id: 'msg_1', nowMs: 0, body: '{}', secret });

    const base64 = Buffer.from('a plain secret').toString('base64');

    expect(sign('a plain secret')).toEqual(sign(`whsec_${base64}`));
  });
});

describe('the body of a webhook', () => {
  it('has a text for people, and the facts as the metadata that Slack takes', () => {
    const body: unknown = JSON.parse(webhookBody(aNotification({ text: 'demo: complete' })));

    expect(body).toEqual({
      text: 'demo: complete',
      metadata: {
        event_type: 'thrice_end',
        event_payload: {
          group: 'demo',
          event: 'end',
          at: aNotification().at,
          ...{ cells: 1, command: 'thrice rerun demo --failed' },
        },
      },
    });
  });

  it('takes what notifies, links or hides out of the text', () => {
    const said = 'a <!channel> & @everyone\u001b[1m\u202e\n<http://evil|fine>';

    const { text } = JSON.parse(webhookBody(aNotification({ text: said }))) as { text: string };

    expect(text).toBe('a &lt;!channel&gt; &amp; @\u200beveryone [1m  &lt;http://evil|fine&gt;');
  });

  it('is short enough for Discord, however long the text', () => {
    const long = webhookBody(aNotification({ text: '<'.repeat(1_000_000) }));

    expect((JSON.parse(long) as { text: string }).text.length).toBeLessThanOrEqual(2_000);
  });
});
