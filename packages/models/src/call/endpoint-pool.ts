/** How long an endpoint sits out at first, and at most, ms. */
const SIT_OUT_BASE_MS = 1_000;
const SIT_OUT_CAP_MS = 60_000;
/** Failed responses in a row after which an endpoint sits out; it may recover from fewer by itself. */
const FAILURES_TO_SIT_OUT = 3;

/** What a call showed about the health of its endpoint. */
export type EndpointOutcome =
  /** A response that is no failure of the server, whatever it says. */
  | 'responded'
  /** A server error, or no response in time. */
  | 'failing'
  /** No connection, or one that broke. */
  | 'unreachable'
  /** Nothing: the call was stopped. */
  | 'unknown';

/** The endpoint of one call. */
export interface EndpointChoice<Endpoint> {
  readonly endpoint: Endpoint;
  /** Reports the end of the call, once. */
  end(outcome: EndpointOutcome): void;
}

interface Member<Endpoint> {
  readonly endpoint: Endpoint;
  /** Calls that have not ended. */
  inFlight: number;
  /** Failed responses in a row while it is healthy. */
  failures: number;
  /** How often in a row it has been sent to sit out; 0 while it is healthy. */
  sitOuts: number;
  /** When it last began to sit out, and when a call may find out whether it works again, monotonic ms. */
  sinceMs: number;
  dueAtMs: number;
  /** It is half-open, and the call that finds out whether it works again is in flight. */
  hasProbe: boolean;
}

/**
 * The endpoints of a lane, and which of them work.
 *
 * An endpoint is healthy --failure--> sits out --time is up--> half-open, for one call --response--> healthy, or
 * --failure--> sits out twice as long. Health comes before load: an endpoint that refuses its calls at once is always
 * the one with the fewest in flight.
 */
export class EndpointPool<Endpoint> {
  readonly #members: readonly [Member<Endpoint>, ...Member<Endpoint>[]];
  readonly #monotonicMs: () => number;

  constructor(
    [first, ...others]: readonly [Endpoint, ...Endpoint[]],
    { monotonicMs }: { readonly monotonicMs: () => number },
  ) {
    this.#members = [newMember(first), ...others.map(newMember)];
    this.#monotonicMs = monotonicMs;
  }

  /** Whether an endpoint is healthy, so that the next call may succeed where the last one failed. */
  get hasHealthy(): boolean {
    return this.#members.some(isHealthy);
  }

  /**
   * Chooses the endpoint of the next call: one that is half-open, else the healthy one with the fewest
   * calls in flight. If all sit out, the one that is due first.
   *
   * @param isWanted - Finds the only endpoint that can answer the call, whatever its health. @default any can
   */
  choose(isWanted?: (endpoint: Endpoint) => boolean): EndpointChoice<Endpoint> {
    const startedMs = this.#monotonicMs();
    const wanted = isWanted && this.#members.find(({ endpoint }) => isWanted(endpoint));
    const member = wanted ?? this.#dueForProbe(startedMs) ?? this.#leastLoaded() ?? this.#nextDue();
    const isProbe = !isHealthy(member) && !member.hasProbe;
    if (isProbe) member.hasProbe = true;
    member.inFlight += 1;
    return {
      endpoint: member.endpoint,
      end: (outcome) => {
        member.inFlight -= 1;
        if (isProbe) member.hasProbe = false;
        this.#note(member, outcome, startedMs);
      },
    };
  }

  #dueForProbe(nowMs: number): Member<Endpoint> | undefined {
    return this.#members.find(
      (member) => !isHealthy(member) && !member.hasProbe && member.dueAtMs <= nowMs,
    );
  }

  #leastLoaded(): Member<Endpoint> | undefined {
    const [first, ...others] = this.#members.filter(isHealthy);
    if (first === undefined) return undefined;
    return others.reduce((idle, next) => (next.inFlight < idle.inFlight ? next : idle), first);
  }

  #nextDue(): Member<Endpoint> {
    const [first, ...others] = this.#members;
    return others.reduce((next, member) => (member.dueAtMs < next.dueAtMs ? member : next), first);
  }

  #note(member: Member<Endpoint>, outcome: EndpointOutcome, startedMs: number): void {
    if (outcome === 'unknown') return;
    if (outcome === 'responded') {
      member.failures = 0;
      member.sitOuts = 0;
      return;
    }
    // Calls that were in flight together fail together: the endpoint is sent out once for all of them.
    if (!isHealthy(member) && startedMs < member.sinceMs) return;
    member.failures += 1;
    const isOut = !isHealthy(member) || outcome === 'unreachable';
    if (!isOut && member.failures < FAILURES_TO_SIT_OUT) return;
    member.failures = 0;
    member.sitOuts += 1;
    member.sinceMs = this.#monotonicMs();
    member.dueAtMs = member.sinceMs + sitOutMs(member.sitOuts);
  }
}

function newMember<Endpoint>(endpoint: Endpoint): Member<Endpoint> {
  return {
    endpoint,
    inFlight: 0,
    failures: 0,
    sitOuts: 0,
    sinceMs: 0,
    dueAtMs: 0,
    hasProbe: false,
  };
}

function isHealthy({ sitOuts }: Member<unknown>): boolean {
  return sitOuts === 0;
}

function sitOutMs(sitOuts: number): number {
  return Math.min(SIT_OUT_CAP_MS, SIT_OUT_BASE_MS * 2 ** (sitOuts - 1));
}
