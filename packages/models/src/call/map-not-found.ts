import { ThriceError } from '@thrice/core';

/**
 * A vendor that does not know a response or a batch names it. Any other 404 says nothing about it: OpenAI sends them in
 * disruptions (https://github.com/zed-industries/zed/pull/63705, 2026-09), and a gateway for a path that it does not
 * route.
 */
export function mapNotFound(error: ThriceError, name: string): ThriceError {
  const { message, details } = error;
  if (details.status !== 404) return error;
  const code = message.includes(name) ? 'unknown-response' : 'unclassified';
  return new ThriceError({ code, message, details });
}
