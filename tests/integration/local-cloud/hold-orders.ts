import type { AwsRequest, Intercept } from '@thrice/local-cloud';
import { within } from '../../support/wait-until.ts';

/** Orders whose invocations are held at the write in which the toy function records them. */
export interface HeldOrders {
  readonly intercept: Intercept;
  /** Resolves with the held request once it has been received. */
  received(name: string): Promise<AwsRequest>;
  release(name: string): void;
}

/** Holds the invocations of some orders until they are released. */
export function holdOrders(...names: readonly string[]): HeldOrders {
  const gates = new Map(
    names.map((name) => [
      name,
      { received: Promise.withResolvers<AwsRequest>(), released: Promise.withResolvers<void>() },
    ]),
  );
  const gateOf = (name: string) => {
    const gate = gates.get(name);
    if (gate === undefined) throw new Error(`${name} is not held`);
    return gate;
  };
  return {
    async intercept(request, proceed) {
      const gate = gates.get(orderIn(request) ?? '');
      gate?.received.resolve(request);
      await gate?.released.promise;
      return await proceed();
    },
    received: async (name) => await within(50, name, gateOf(name).received.promise),
    release: (name) => gateOf(name).released.resolve(),
  };
}

/** The name of the order that the toy function records in a request; undefined for other requests. */
export function orderIn({ service, operation, input }: AwsRequest): string | undefined {
  if (service !== 'dynamodb' || operation !== 'PutItem') return undefined;
  return (input as { readonly Item: { readonly pk: { readonly S: string } } }).Item.pk.S;
}
