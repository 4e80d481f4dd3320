import { builtinLanes, SIMULATOR_LANE } from '../packages/core/src/spec/builtin-lanes.ts';
import { isProduction } from './stage.ts';

/** A lane in the cloud: one queue and a share of the answer function's concurrency. */
export interface Lane {
  /** The part of a model before the `/` in a spec. */
  readonly name: string;
  /** The variable that specs name for the API key, stored as a secret of the stage. Absent: no key. */
  readonly apiKeyEnv?: string;
  /** Cells of this lane that are answered concurrently, 2..1000. */
  readonly maximumConcurrency: number;
}

/** In production, lanes reserve 512 of an account's 1,000 invocations, which leaves room for test stages. */
const defaultConcurrency = isProduction() ? 64 : 8;

/**
 * Lanes in addition to the built-in ones. A spec with any other lane can run only on the local engine.
 *
 * For example `{ name: 'lab', apiKeyEnv: 'LAB_API_KEY', maximumConcurrency: 16 }`.
 */
const customLanes: readonly Lane[] = [];

/** All lanes of the stack. Queues, subscriptions, secrets, and alarms are created from this list. */
export const lanes: readonly Lane[] = [
  ...Object.entries(builtinLanes).map(([name, { apiKeyEnv }]) => ({
    name,
    apiKeyEnv,
    maximumConcurrency: defaultConcurrency,
  })),
  { name: SIMULATOR_LANE, maximumConcurrency: defaultConcurrency },
  ...customLanes,
];

/** Converts `my-lab` and `MY_LAB` to `MyLab`, since component names are PascalCase. */
export function pascalCase(name: string): string {
  return name
    .toLowerCase()
    .split(/[-_]+/)
    .filter((word) => word.length > 0)
    .map((word) => word[0].toUpperCase() + word.slice(1))
    .join('');
}
