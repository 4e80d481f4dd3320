import { backoffMs } from '../cells/backoff.ts';
import type { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';

/** What a failed call says about its lane. */
export interface LaneDiagnosis {
  /** The outage of the lane; undefined while it counts as working, or where the failure is another. */
  readonly outage: Outage | undefined;
  /** The failure opens the breaker, or opens it again. */
  readonly isOpening: boolean;
  /** The failure may be that of the question, so it counts as an attempt. */
  readonly isAttempt: boolean;
  /** Whether the lane may turn out to be out because of this failure, which then is no attempt after all. */
  readonly isSuspect: boolean;
}

/** An outage of a lane's servers. */
export interface Outage {
  /** When the first call failed, ISO-8601 UTC. */
  readonly since: string;
  /** When the next call may find out whether the lane works again, ISO-8601 UTC. */
  readonly probeAt: string;
}

/** The transport failures of a lane since its servers last responded. */
interface FailureSeries {
  readonly since: string;
  /** Requests that never left: there was nothing to connect to. */
  unsent: number;
  /** The cells whose requests failed after they were sent, at most as many as open the breaker. */
  readonly cells: Set<string>;
  /** How often the breaker has opened. */
  openings: number;
  /** When it last opened, monotonic ms. */
  openedAtMs: number;
  outage: Outage | undefined;
}

/**
 * Tells the outage of a lane's servers from the failures of single calls, as one process sees them.
 *
 * A lane works --transport failures in a row--> is out --its probe fails--> is out for longer --a response--> works.
 * Requests that never left are never the fault of a question, so three in a row suffice and none is an attempt.
 * A connection that breaks, a server error or a page of HTML may be caused by the question: these must come from five different
 * cells in a row, and the failure of a probe is an attempt of its cell, so that questions that crash a server end as
 * failed and not in an outage without end. A timeout says nothing: the last questions of a benchmark are often the
 * slow ones. While another endpoint of the lane works, the lane is not out.
 */
export class LaneHealth {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #series = new Map<string, FailureSeries>();
  readonly #responded = new Set<string>();

  constructor(init: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = init.clock;
    this.#random = init.random;
  }

  /** Whether the lane's servers have ever responded to this process. */
  hasResponded(lane: string): boolean {
    return this.#responded.has(lane);
  }

  /**
   * Notes a response of the lane's servers, whatever it says.
   *
   * @param startedAtMs - When its call was sent, monotonic ms. If that was before the breaker opened, it may have
   *   been on its way when the outage began, and does not end it.
   */
  noteResponse(lane: string, startedAtMs: number): void {
    this.#responded.add(lane);
    const series = this.#series.get(lane);
    if (series !== undefined && !isBefore(series, startedAtMs)) this.#series.delete(lane);
  }

  /**
   * Notes a failed call.
   *
   * @param call.cell - A name of its cell; undefined for a request that no question can be the fault of.
   * @param call.startedAtMs - When it was sent, monotonic ms.
   */
  noteFailure(
    lane: string,
    error: ThriceError,
    call: { readonly cell: string | undefined; readonly startedAtMs: number },
  ): LaneDiagnosis {
    const { hasHealthyEndpoint = false, isUnsent = false } = error.details;
    if (isServerResponse(error)) this.noteResponse(lane, call.startedAtMs);
    if (!isTransportFailure(error)) return { ...OTHER_FAILURE, isAttempt: true };
    if (hasHealthyEndpoint) return { ...OTHER_FAILURE, isAttempt: !isUnsent };
    const series = this.#series.get(lane) ?? this.#startSeries(lane);
    // Sent before the breaker opened: part of the same outage, and no probe.
    if (isBefore(series, call.startedAtMs)) return { ...OTHER_FAILURE, outage: series.outage };
    if (isUnsent) series.unsent += 1;
    else if (call.cell !== undefined && series.cells.size < limits.outageCells)
      series.cells.add(call.cell);
    const isProbe = series.openings > 0;
    const isOut =
      isProbe ||
      call.cell === undefined ||
      series.unsent >= limits.outageUnsentRequests ||
      series.cells.size >= limits.outageCells;
    if (!isOut) return { ...OTHER_FAILURE, isAttempt: !isUnsent, isSuspect: !isUnsent };
    const outage = this.#open(series, error.details.retryAfterMs);
    return { outage, isOpening: true, isAttempt: isProbe && !isUnsent, isSuspect: false };
  }

  #startSeries(lane: string): FailureSeries {
    const since = this.#clock.toIso(this.#clock.now());
    const series = {
      since,
      unsent: 0,
      cells: new Set<string>(),
      openings: 0,
      openedAtMs: 0,
      outage: undefined,
    };
    this.#series.set(lane, series);
    return series;
  }

  #open(series: FailureSeries, retryAfterMs = 0): Outage {
    series.openings += 1;
    series.openedAtMs = this.#clock.monotonicMs();
    const { outageProbeBaseMs: baseMs, outageProbeCapMs: capMs } = limits;
    const waitMs = backoffMs(series.openings, { baseMs, capMs, random: this.#random });
    const probeAtMs = Math.ceil(this.#clock.now() + Math.max(waitMs, retryAfterMs));
    series.outage = { since: series.since, probeAt: this.#clock.toIso(probeAtMs) };
    return series.outage;
  }
}

/** Whether a call was sent before the breaker opened. */
function isBefore({ outage, openedAtMs }: FailureSeries, startedAtMs: number): boolean {
  return outage !== undefined && startedAtMs <= openedAtMs;
}

const OTHER_FAILURE: LaneDiagnosis = {
  outage: undefined,
  isOpening: false,
  isAttempt: false,
  isSuspect: false,
};

/** Whether an error is one of the connection or the server, and comes before any answer. */
function isTransportFailure({ code, details }: ThriceError): boolean {
  return code === 'connection-failed' || code === 'model-unavailable' || details.isPage === true;
}

/** Whether an error is the response of a server that works. */
export function isServerResponse({ class: errorClass, code }: ThriceError): boolean {
  if (errorClass === 'transient') return code === 'unclassified' || code === 'unreadable-verdict';
  return ['rate-limited', 'exhausted', 'misconfigured', 'rejected'].includes(errorClass);
}
