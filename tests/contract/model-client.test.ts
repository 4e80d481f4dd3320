import { openModelClients, openTransport } from '@thrice/models';
import { FakeClock } from '../support/fake-clock.ts';
import { protocolBodies } from '../support/protocol-bodies.ts';
import { describeModelClientContract, type OpenModelClient } from './model-client-contract.ts';

const openClient: OpenModelClient = (key) => {
  const { clientFor, ...clients } = openModelClients({
    keyOf: () => key,
    clock: new FakeClock('2026-01-02T03:04:05.000Z'),
    transport: openTransport({ environment: {} }),
  });
  return {
    ...clients,
    send: (request, signal) => clientFor(request.lane).send(request, signal),
  };
};

for (const bodies of Object.values(protocolBodies)) {
  describeModelClientContract(`the ${bodies.protocol} client`, bodies, openClient);
}
