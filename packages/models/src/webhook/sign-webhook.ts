import { createHmac } from 'node:crypto';

/** What a receiver checks a webhook by. */
export interface WebhookSignature {
  readonly 'webhook-id': string;
  /** Seconds since 1970. */
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Signs a webhook as Standard Webhooks do, so that their libraries can verify it.
 *
 * @param secret - The key, as base64 behind `whsec_`; any other text is the key itself.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md (2026-11)
 */
export function signWebhook({
  id,
  nowMs,
  body,
  secret,
}: {
  /** Of the message: the same for each time that it is sent, and without a dot. */
  readonly id: string;
  readonly nowMs: number;
  readonly body: string;
  readonly secret: string;
}): WebhookSignature {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${hmac}`,
  };
}
