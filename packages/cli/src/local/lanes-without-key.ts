import type { Benchmark, Config, Lane } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';
import { keyStatus } from './compose-local.ts';

/** The lanes that cells of a config, and those that grade its answers, may call and whose key is not set here. */
export function lanesWithoutKey(
  { roles, gradedBy }: Pick<Config, 'roles' | 'gradedBy'>,
  { lanes }: Pick<Benchmark, 'lanes'>,
  terminal: Terminal,
): readonly Lane[] {
  return [...new Set([...roles, ...(gradedBy?.roles ?? [])].map(({ lane }) => lane))]
    .flatMap((name) => lanes.get(name) ?? [])
    .filter((lane) => keyStatus(lane, terminal) === 'missing');
}
