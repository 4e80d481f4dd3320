import { laneOf, modelsOfConfig } from '@thrice/core';
import type { GroupCounts } from './engine.ts';
import { sum } from './sum.ts';

/** Counts the cells without a result, by the lane that has their tasks: that of the first model of their config. Lanes without any are left out. */
export function countLeft({ header, configs }: Pick<GroupCounts, 'header' | 'configs'>): readonly {
  readonly lane: string;
  readonly left: number;
}[] {
  // No lane has the cells of a group that was imported.
  if (header.imported !== undefined) return [];
  const laneOfConfig = (name: string) => {
    const [model = ''] = modelsOfConfig(header, name);
    return laneOf(model);
  };
  return [...Map.groupBy(configs, ({ config }) => laneOfConfig(config))]
    .map(([lane, own]) => ({ lane, left: sum(own.map(({ notAttempted }) => notAttempted)) }))
    .filter(({ left }) => left > 0);
}
