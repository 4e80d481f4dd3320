import { type Clock, type Lane, ThriceError } from '@thrice/core';
import type { HttpEndpoint, HttpTransport } from '../transport/http-transport.ts';
import { isLoopback } from '../transport/is-loopback.ts';
import { createRedact, type Redact } from '../transport/redact.ts';
import { endpointHeaders, endpointUrl } from './endpoint.ts';
import { EndpointPool } from './endpoint-pool.ts';
import type { WireProtocol } from './wire-protocol.ts';

/** One endpoint of a lane. */
export interface LaneEndpoint {
  readonly url: string;
  readonly http: HttpEndpoint;
  /**
   * Opens another path below the base URL.
   *
   * @param headers - In addition to the lane's, or in place of them.
   */
  readonly open: (path: string, headers?: Readonly<Record<string, string>>) => HttpEndpoint;
  readonly isLoopback: boolean;
}

/** The endpoints of a lane, with its key. */
export interface OpenLane {
  readonly pool: EndpointPool<LaneEndpoint>;
  /** Removes the lane's key from a text; undefined if the lane has no key. */
  readonly redact: Redact | undefined;
}

/** What lanes are opened with. */
export interface LaneOpening {
  readonly protocol: WireProtocol;
  /**
   * Reads the lane's API key; undefined if it needs none.
   *
   * @throws {ThriceError} `key-withheld` for a lane whose endpoints may not have it.
   */
  readonly keyOf: (lane: Lane) => string | undefined;
  readonly transport: HttpTransport;
  readonly clock: Clock;
}

/** The lanes that a client calls, each opened once. */
export class OpenLanes {
  readonly #init: LaneOpening;
  readonly #lanes = new Map<string, OpenLane>();

  constructor(init: LaneOpening) {
    this.#init = init;
  }

  /**
   * Opens the endpoints of a lane, unless it is open.
   *
   * @throws {ThriceError} `auth-failed` for a key that cannot be sent, `endpoint-unreachable` for a lane without
   *   endpoints.
   */
  open(lane: Lane): OpenLane {
    // Two groups, or one that is edited, may give a name to different servers with different keys.
    const place = JSON.stringify([lane.name, lane.endpoints, lane.apiKeyEnv]);
    const known = this.#lanes.get(place);
    if (known !== undefined) return known;
    const opened = openLane(lane, this.#init);
    this.#lanes.set(place, opened);
    return opened;
  }
}

function openLane(lane: Lane, { keyOf, protocol, transport, clock }: LaneOpening): OpenLane {
  const key = keyOf(lane)?.trim();
  if (key !== undefined && !SENDABLE_KEY.test(key)) {
    throw new ThriceError({
      code: 'auth-failed',
      message: `lane "${lane.name}": expected an API key that a header can carry, received one with other characters`,
    });
  }
  const headers = endpointHeaders(protocol, key);
  const [first, ...others] = lane.endpoints.map((url): LaneEndpoint => {
    const open: LaneEndpoint['open'] = (path, own = {}) =>
      transport.open(endpointUrl(url, path), { ...headers, ...own });
    return { url, http: open(protocol.path), open, isLoopback: isLoopback(url) };
  });
  if (first === undefined) {
    throw new ThriceError({
      code: 'endpoint-unreachable',
      message: `lane "${lane.name}": expected an endpoint, found none`,
    });
  }
  const pool = new EndpointPool([first, ...others], { monotonicMs: () => clock.monotonicMs() });
  return { pool, redact: createRedact(key) };
}

/** The characters of a header's value. */
const SENDABLE_KEY = /^[\t\x20-\x7e\x80-\xff]*$/;
