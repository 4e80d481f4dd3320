import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  finishRequestsBeforeClose,
  listenOnLoopback,
} from '../../../packages/local-cloud/src/listen-on-loopback.ts';
import { within } from '../../support/wait-until.ts';

describe('finishRequestsBeforeClose', () => {
  it('closes a server after requests with cut connections have finished', async () => {
    const events: string[] = [];
    const received = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const server = createServer((_, response) => {
      received.resolve();
      void released.promise.then(() => {
        events.push('answered');
        response.end();
      });
    });
    const listening = await listenOnLoopback(finishRequestsBeforeClose(server));
    const request = fetch(`http://127.0.0.1:${listening.port}/`);
    await received.promise;

    const closing = close(listening).then(() => events.push('closed'));
    await expect(request).rejects.toThrow('fetch failed');
    released.resolve();
    await within(50, 'the server to close', closing);

    expect(events).toEqual(['answered', 'closed']);
  });
});

async function close(listening: AsyncDisposable): Promise<void> {
  await listening[Symbol.asyncDispose]();
}
