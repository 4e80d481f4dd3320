import type { Lane } from '@thrice/core';
import { openBatchClients, openModelClients } from '@thrice/models';
import { describe, expect, it } from 'vitest';
import type { HttpTransport } from '../../../packages/models/src/transport/http-transport.ts';
import { aLane, aModelRequest } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const never = new AbortController().signal;
const keyOf = ({ apiKeyEnv }: Lane) => `of ${apiKeyEnv}`;

/** Posts nothing, and notes where it would go with which key. */
function notingTransport() {
  const noted: string[] = [];
  const transport: HttpTransport = {
    open: (url, headers) => {
      const post = async () => {
        noted.push(`${url} ${headers['authorization']}`);
        throw new Error('not sent');
      };
      return { post, get: post };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { noted, init: { keyOf, clock: new FakeClock(), transport } };
}

/** What two groups, or one before and after an edit, call by the same name. */
const lanes = [
  aLane({ endpoints: ['https://a.example/v1'], apiKeyEnv: 'A_KEY' }),
  aLane({ endpoints: ['https://b.example/v1'], apiKeyEnv: 'B_KEY' }),
  aLane({ endpoints: ['https://b.example/v1'], apiKeyEnv: 'C_KEY' }),
];

describe('lanes of one name', () => {
  it('are called at their own servers with their own keys', async () => {
    const { noted, init } = notingTransport();
    const { clientFor } = openModelClients(init);

    for (const lane of lanes)
      await clientFor(lane)
        .send(aModelRequest({ lane }), never)
        .catch(() => undefined);

    expect(noted).toEqual([
      'https://a.example/v1/chat/completions Bearer of A_KEY',
      'https://b.example/v1/chat/completions Bearer of B_KEY',
      'https://b.example/v1/chat/completions Bearer of C_KEY',
    ]);
  });

  it('have their batches at their own vendors, with their own keys', async () => {
    const { noted, init } = notingTransport();
    const clientFor = openBatchClients(init);

    for (const lane of lanes)
      await clientFor(lane)
        .poll(lane, { endpoint: lane.endpoints[0] ?? '', vendorId: 'b1' }, never)
        .catch(() => undefined);

    expect(noted).toEqual([
      'https://a.example/v1/batches/b1 Bearer of A_KEY',
      'https://b.example/v1/batches/b1 Bearer of B_KEY',
      'https://b.example/v1/batches/b1 Bearer of C_KEY',
    ]);
  });
});
