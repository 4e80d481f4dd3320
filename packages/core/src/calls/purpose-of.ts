import type { Config } from '../domain/benchmark.ts';
import type { Call } from '../domain/call.ts';

/** What the calls of a config's cells are for; and of judges, the grading that first asked them. */
export function purposeOf(config: Config | undefined): Pick<Call, 'purpose' | 'grading'> {
  if (config?.grades === undefined) return { purpose: 'answering' };
  const purpose = config.probes === undefined ? 'grading' : 'probing';
  return { purpose, grading: config.grading };
}
