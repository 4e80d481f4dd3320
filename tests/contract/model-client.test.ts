import {
  createFetchTransport,
  createPooledTransport,
  type HttpTransport,
  openModelClients,
} from '@thrice/models';
import { FakeClock } from '../support/fake-clock.ts';
import { protocolBodies } from '../support/protocol-bodies.ts';
import { describeModelClientContract, type OpenModelClient } from './model-client-contract.ts';

function openOver(createTransport: () => HttpTransport): OpenModelClient {
  return (key) => {
    const { clientFor, ...clients } = openModelClients({
      keyOf: () => key,
      clock: new FakeClock('2026-01-02T03:04:05.000Z'),
      transport: createTransport(),
    });
    return {
      ...clients,
      send: (request, signal) => clientFor(request.lane).send(request, signal),
    };
  };
}

for (const bodies of Object.values(protocolBodies)) {
  const { protocol } = bodies;
  describeModelClientContract(
    `${protocol} over pooled connections`,
    bodies,
    openOver(createPooledTransport),
  );
  describeModelClientContract(`${protocol} over fetch`, bodies, openOver(createFetchTransport));
}
