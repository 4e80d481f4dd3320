import { blockersOf, modelsOf, toOpenBreakers } from '@thrice/core';
import type { GroupCounts } from './engine.ts';

/** Whether an open breaker blocks the model of every config that has cells left. */
export function areAllBlocked({ header, configs, openBreakers }: GroupCounts): boolean {
  const open = toOpenBreakers(openBreakers);
  const isBlocked = (config: string) => {
    const spec = header.spec.configs.find(({ name }) => name === config);
    return spec !== undefined && blockersOf(modelsOf(spec, header.keys), open).length > 0;
  };
  return configs
    .filter(({ notAttempted }) => notAttempted > 0)
    .every(({ config }) => isBlocked(config));
}
