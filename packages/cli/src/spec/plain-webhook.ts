import type { BenchmarkSpec } from '@thrice/core';
import { isLoopback } from '@thrice/models';
import type { Environment } from '../shell/env-file.ts';

/**
 * Describes a webhook whose messages can be read on the way; undefined for any other.
 *
 * @see "Enforcing HTTPS" in
 *   https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md (2026-11)
 */
export function describePlainWebhook(
  { notify }: BenchmarkSpec,
  environment: Environment,
): string | undefined {
  if (notify === undefined) return undefined;
  const url = environment[notify.webhook_env] ?? '';
  if (URL.parse(url)?.protocol !== 'http:' || isLoopback(url)) return undefined;
  return `notify: expected an https URL in ${notify.webhook_env}, received an http one of another machine: whoever is on the way can read the messages, and what is secret in the URL`;
}
