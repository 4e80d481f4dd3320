import { builtinLanes, SIMULATOR_LANE } from '../packages/core/src/spec/builtin-lanes.ts';
import { isProduction } from './stage.ts';

/** A lane as the cloud knows it: one queue, one share of the answer function. */
export interface Lane {
  /** As a spec writes it before the `/` of a model. */
  readonly name: string;
  /** The environment variable a spec names; its value is a secret of the stage. Absent: no key. */
  readonly apiKeyEnv?: string;
  /** Cells of this lane in work at once, 2..1000. */
  readonly maximumConcurrency: number;
}

/** Adds up to 512 invocations reserved of an account's usual 1,000, and leaves room for test stages. */
const defaultConcurrency = isProduction() ? 64 : 8;

/**
 * Lanes beside the built-in ones: a spec that names yet another can run only on one machine.
 *
 * For example `{ name: 'lab', apiKeyEnv: 'LAB_API_KEY', maximumConcurrency: 16 }`.
 */
const ownLanes: readonly Lane[] = [];

/** Every lane of the stack; queues, subscriptions, secrets and alarms follow from this list. */
export const lanes: readonly Lane[] = [
  ...Object.entries(builtinLanes).map(([name, { apiKeyEnv }]) => ({
    name,
    apiKeyEnv,
    maximumConcurrency: defaultConcurrency,
  })),
  { name: SIMULATOR_LANE, maximumConcurrency: defaultConcurrency },
  ...ownLanes,
];

/** `my-lab` and `MY_LAB` become `MyLab`: component names are PascalCase. */
export function pascalCase(name: string): string {
  return name
    .toLowerCase()
    .split(/[-_]+/)
    .filter((word) => word.length > 0)
    .map((word) => word[0].toUpperCase() + word.slice(1))
    .join('');
}
