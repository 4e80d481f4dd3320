import type { ModelRequest } from '@thrice/core';
import type { HttpRequest, HttpResponse } from '../transport/http-transport.ts';
import type { LaneEndpoint } from './lane-endpoints.ts';

/** A request to one of a lane's endpoints. */
export interface EndpointRequest {
  readonly request: ModelRequest;
  /** The caller's. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The only endpoint that can answer it. @default any of the lane's */
  readonly endpoint?: string;
  readonly exchange: (endpoint: LaneEndpoint, init: HttpRequest) => Promise<HttpResponse>;
}
