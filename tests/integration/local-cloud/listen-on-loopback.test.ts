import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  endsRequestsFirst,
  listenOnLoopback,
} from '../../../packages/local-cloud/src/listen-on-loopback.ts';
import { within } from '../../support/wait-until.ts';

describe('endsRequestsFirst', () => {
  it('closes a server when the requests are done whose connections are cut', async () => {
    const events: string[] = [];
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const server = createServer((_, response) => {
      begun.resolve();
      void released.promise.then(() => {
        events.push('answered');
        response.end();
      });
    });
    const listening = await listenOnLoopback(endsRequestsFirst(server));
    const asking = fetch(`http://127.0.0.1:${listening.port}/`);
    await begun.promise;

    const closing = closed(listening).then(() => events.push('closed'));
    await expect(asking).rejects.toThrow('fetch failed');
    released.resolve();
    await within(5, 'the end', closing);

    expect(events).toEqual(['answered', 'closed']);
  });
});

async function closed(listening: AsyncDisposable): Promise<void> {
  await listening[Symbol.asyncDispose]();
}
