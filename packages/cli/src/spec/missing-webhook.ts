import type { BenchmarkSpec } from '@thrice/core';
import type { Environment } from '../shell/env-file.ts';

/** Returns the first variable of `[notify]` that is not set, with what to do; undefined if all are. */
export function describeMissingWebhook(
  { notify }: BenchmarkSpec,
  environment: Environment,
): string | undefined {
  const names = [notify?.webhook_env, notify?.secret_env].filter((name) => name !== undefined);
  const missing = names.find((name) => (environment[name]?.trim() ?? '') === '');
  if (missing === undefined) return undefined;
  return `notify: expected a value in ${missing}, found none; set it in the shell or in ./.env, or leave [notify] out`;
}
