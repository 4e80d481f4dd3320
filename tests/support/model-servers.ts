import {
  type Behaviour,
  type Fault,
  type Faults,
  type Simulator,
  startSimulator,
} from '@thrice/simulator';
import { additions, patchyKnowledge } from './additions.ts';

/** Responses that are paid and useless, among refusals that cost nothing. */
export const spoiledResponses: Faults = {
  seed: 5,
  faults: [
    { kind: 'content-filter', rate: 0.1 },
    { kind: 'no-choices', rate: 0.15 },
    { kind: 'error-object', rate: 0.05, error: 'server-error' },
    { kind: 'server-error', rate: 0.05 },
    { kind: 'empty-content', rate: 0.05 },
  ],
};

/**
 * Starts a model server that knows the sums of {@link additions}.
 *
 * @param options.models - @default any model, each answer after about 10 ms
 */
export async function startServer(options: {
  /** The number of sums. */
  readonly count: number;
  readonly models?: Behaviour['models'];
  readonly faults?: readonly Fault[];
  readonly port?: number;
}): Promise<Simulator> {
  const { count, port, faults = [] } = options;
  const models = options.models ?? { '*': { accuracy: 1, latencyMs: { fixed: 10 } } };
  return await startSimulator({
    behaviour: { seed: 11, models },
    faults: { seed: 11, faults: [...faults] },
    questions: patchyKnowledge(additions(count)),
    port,
  });
}

/** Returns the port a server listens on. */
function portOf({ url }: Simulator): number {
  return Number(new URL(url).port);
}

/** Closes a server and starts a healthy one on the same port. */
export async function repair(broken: Simulator, count: number): Promise<Simulator> {
  const port = portOf(broken);
  await broken.close();
  return await startServer({ count, port });
}

/** Counts the requests for the cells of one config, by question id. */
export function requestsOf(
  { stats }: Pick<Simulator, 'stats'>,
  config: string,
): ReadonlyMap<string, number> {
  return new Map(
    [...stats().requestsByQuestion].flatMap(([key, { requests }]): [string, number][] => {
      const [, keyConfig = '', id = ''] = key.split('/');
      return keyConfig === config ? [[id, requests]] : [];
    }),
  );
}
