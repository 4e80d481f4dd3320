import type { AwsRequest, Intercept } from '@thrice/local-cloud';
import { within } from '../../support/wait-until.ts';

/** Orders whose invocations stand still where the toy function tells of them. */
export interface HeldOrders {
  readonly intercept: Intercept;
  /** The request that is kept from being done, as soon as it is made. */
  begun(name: string): Promise<AwsRequest>;
  release(name: string): void;
}

/** Holds the invocations of some orders until they are released. */
export function holdOrders(...names: readonly string[]): HeldOrders {
  const gates = new Map(
    names.map((name) => [
      name,
      { begun: Promise.withResolvers<AwsRequest>(), released: Promise.withResolvers<void>() },
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
      gate?.begun.resolve(request);
      await gate?.released.promise;
      return await proceed();
    },
    begun: async (name) => await within(20, name, gateOf(name).begun.promise),
    release: (name) => gateOf(name).released.resolve(),
  };
}

/** The order that the toy function tells of. */
export function orderIn({ service, operation, input }: AwsRequest): string | undefined {
  if (service !== 'dynamodb' || operation !== 'PutItem') return undefined;
  return (input as { readonly Item: { readonly pk: { readonly S: string } } }).Item.pk.S;
}
