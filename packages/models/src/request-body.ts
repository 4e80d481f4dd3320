import type { ModelRequest } from '@thrice/core';
import { protocols } from './protocols.ts';

/**
 * The body that a request is sent with, by the protocol of its lane.
 *
 * @throws {ThriceError} `invalid-request` for what the protocol cannot say.
 */
export function requestBodyOf(request: ModelRequest): object {
  return protocols[request.lane.protocol].describeRequest(request);
}
