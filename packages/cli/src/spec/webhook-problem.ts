import type { BenchmarkSpec } from '@thrice/core';
import { isWebhookUrl } from '@thrice/models';
import type { Environment } from '../shell/env-file.ts';

/** Returns what is wrong with the variables of `[notify]`, with what to do; undefined if nothing is. */
export function describeWebhookProblem(
  { notify }: BenchmarkSpec,
  environment: Environment,
): string | undefined {
  const names = [notify?.webhook_env, notify?.secret_env].filter((name) => name !== undefined);
  const missing = names.find((name) => (environment[name]?.trim() ?? '') === '');
  if (missing !== undefined)
    return `notify: expected a value in ${missing}, found none; set it in the shell or in ./.env, or leave [notify] out`;
  const variable = notify?.webhook_env ?? '';
  if (notify === undefined || isWebhookUrl(environment[variable] ?? '')) return undefined;
  return `notify: expected an http or https URL in ${variable}, received a text that is not shown: it may be a secret`;
}
