import { type BatchLimits, type BatchRequest, ThriceError } from '@thrice/core';

/**
 * Renders requests as JSON, one to a line.
 *
 * @param separator - Between two of them.
 * @throws {ThriceError} `invalid-request` for none, or for more than the limits allow.
 */
export function gatherLines(
  requests: Iterable<BatchRequest>,
  { requestCount, bytes }: BatchLimits,
  describe: (request: BatchRequest) => object,
  separator = '\n',
): string {
  const lines: string[] = [];
  let size = 0;
  for (const request of requests) {
    const line = JSON.stringify(describe(request));
    size += Buffer.byteLength(line) + separator.length;
    lines.push(line);
    if (lines.length > requestCount) throw tooLarge(`${requestCount} requests`);
    if (size > bytes) throw tooLarge(`${bytes / 1024 / 1024} MiB`);
  }
  if (lines.length > 0) return lines.join(separator);
  throw new ThriceError({ code: 'invalid-request', message: 'expected a batch with requests' });
}

function tooLarge(limit: string): ThriceError {
  const message = `expected a batch of at most ${limit}, received a larger one`;
  return new ThriceError({ code: 'invalid-request', message });
}
