import { type Benchmark, type GroupHeader, ThriceError } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';
import { lanesWithoutKey } from './lanes-without-key.ts';

/**
 * Refuses work on a group if a lane that its cells may call has no key here: the first call without it would block the
 * lane, also for the processes that have it.
 *
 * @throws {ThriceError} `missing-key` naming the lane and the variable.
 */
export function refuseMissingKeys(
  header: Pick<GroupHeader, 'configs'>,
  benchmark: Pick<Benchmark, 'configs' | 'lanes'>,
  terminal: Terminal,
): void {
  const asked = new Set(header.configs.flatMap(({ config, cells }) => (cells > 0 ? config : [])));
  const [lane] = benchmark.configs
    .filter(({ name }) => asked.has(name))
    .flatMap((config) => lanesWithoutKey(config, benchmark, terminal));
  if (lane === undefined) return;
  throw new ThriceError({
    code: 'missing-key',
    message: `lane ${lane.name}: expected its key in ${lane.apiKeyEnv ?? ''}, which is not set; set it where this command starts, then start it again`,
  });
}
