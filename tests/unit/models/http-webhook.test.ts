import { systemClock } from '@thrice/local';
import { HttpWebhook } from '@thrice/models';
import { describe, expect, it } from 'vitest';
import type { HttpTransport } from '../../../packages/models/src/transport/http-transport.ts';
import { aNotification } from '../../support/builders.ts';

/** Sends over a server that refuses, and quotes what it refuses. */
async function refusalOf(url: string, said: string): Promise<string> {
  const respond = async () => ({
    status: 403,
    headers: {},
    pause: () => undefined,
    resume: () => undefined,
    readBody: async (_: number, onPiece: (piece: Buffer) => boolean) => {
      onPiece(Buffer.from(said));
      return undefined;
    },
  });
  const transport: HttpTransport = {
    open: () => ({ post: respond, get: respond }),
    [Symbol.asyncDispose]: async () => undefined,
  };
  const { signal } = new AbortController();
  const webhook = new HttpWebhook({ transport, clock: systemClock, read: () => url, signal });
  return await webhook.send(aNotification()).then(
    () => 'sent',
    (error: unknown) => String(error),
  );
}

describe('the error of a webhook', () => {
  it.each([
    [
      'https://hooks.example/services/T0000000/B0000000/XyZ123secret',
      'no XyZ123secret in T0000000',
    ],
    ['https://hooks.example/in?token=XyZ123secret', 'unknown token XyZ123secret'],
    ['https://hooks.example/a%20b/XyZ123secret', 'no such path: /a%20b/XyZ123secret'],
  ])('quotes no part of the URL that may be its secret: %s', async (url, said) => {
    const error = await refusalOf(url, said);

    expect(error).toContain('403 ');
    expect(error).not.toContain('XyZ123secret');
  });
});
