import type {
  LaneReport,
  LaneState,
  ModelLimit,
  ModelReport,
  RateLimits,
} from '../domain/lane-state.ts';
import { limits } from '../limits.ts';

/**
 * The policy of rate-limited lanes, whole: how their one record changes with what its workers report.
 *
 * free --many refusals--> cut --the share of refusals falls--> limited, and rising
 *                         cut --it does not fall--> taken back: chance
 *
 * A rate is cut to what was answered while calls were refused, as TCP Westwood sets its window to the bandwidth that it has
 * measured, and rises with the cube of the time since, as that of CUBIC beyond its plateau. Neither tells a limit from
 * refusals by chance, which halve such a rate again and again: so the effect of a cut is examined, and one that did not lower the
 * share of refusals is taken back. A refused call costs nothing but time, so a few are let pass.
 *
 * @see Mascolo et al. (2001), TCP Westwood, doi:10.1145/381677.381704
 * @see https://www.rfc-editor.org/rfc/rfc9438 (CUBIC), as in `DefaultRateLimiter` of `@smithy/util-retry`
 */

/** The window in which workers report, ms, and its time per worker: one record takes only so many writes. */
const WINDOW_MS = 2_000;
const WINDOW_MS_PER_WORKER = 40;
/** The share of refusals that no rate is cut for. */
const TOLERATED_RATIO = 0.02;
/** The effect of a cut is examined once so many calls would have been refused without it. */
const CERTAIN_REFUSALS = 16;
/** A cut has helped if the share of refusals has fallen below this part of what it was; it is the same up to so much more. */
const HELPFUL_RATIO = 0.4;
/** A larger share of refusals is that of a limit. */
const MOST_CHANCE_RATIO = 0.5;
/** A rate that nobody refuses doubles in so many windows, slowly at first, and in no fewer calls. */
const DOUBLING_WINDOWS = 25;
const DOUBLING_CALLS = 250;
/** What is used of a stated limit, and of what was answered: it leaves time for the vendor's bucket to fill. */
const USED_RATIO = 0.96;
/** What is known of a lane that nobody has used for so long, ms, is forgotten; so is a chance that was found out then. */
const FORGET_MS = 600_000;

const MINUTE_MS = 60_000;
const NO_WORKERS = { count: 0, hungry: 0, usedRatio: 0 };

/** A state of a lane of which nothing is known. */
export function unknownLane(lane: string, nowMs: number): LaneState {
  const window = { no: 1, ageMs: 0, ...NO_WORKERS };
  return {
    schemaVersion: 1,
    lane,
    revision: 0,
    atMs: nowMs,
    window,
    workers: NO_WORKERS,
    models: {},
  };
}

/** How long a window is, ms: the more workers, the longer. */
export function windowMs({ workers, window }: LaneState): number {
  return WINDOW_MS + WINDOW_MS_PER_WORKER * Math.max(workers.count, window.count);
}

/**
 * The state of a lane now, by the time since its last write. A clock that was set back lets no time pass; what is known is
 * forgotten after a long time, also where a clock was only set forward.
 */
export function stateAt(state: LaneState, nowMs: number): LaneState {
  return stateAfter(state, Math.max(0, nowMs - state.atMs));
}

function stateAfter(state: LaneState, elapsedMs: number): LaneState {
  const { lane, revision, atMs, window } = state;
  if (elapsedMs >= FORGET_MS) return { ...unknownLane(lane, atMs), revision };
  const models = Object.entries(state.models).map(([name, model]) => [
    name,
    limitAfter(model, elapsedMs),
  ]);
  return {
    ...state,
    window: { ...window, ageMs: window.ageMs + elapsedMs },
    models: Object.fromEntries(models) as LaneState['models'],
  };
}

/** What is known of a model after so long. */
export function limitAfter(model: ModelLimit, elapsedMs: number): ModelLimit {
  const chanceAgeMs = model.chanceAgeMs + elapsedMs;
  // After a pause, nobody knows what it would have answered.
  const isRefusing = model.onlyRefusedMs > 0 && elapsedMs < 2 * MINUTE_MS;
  return {
    ...model,
    risingMs: model.cut === null ? model.risingMs + elapsedMs : 0,
    minute: minuteAfter(model.minute, elapsedMs),
    // Found out again from time to time: it may have been a limit.
    chanceRatio: chanceAgeMs < FORGET_MS ? model.chanceRatio : 0,
    chanceAgeMs,
    onlyRefusedMs: isRefusing ? model.onlyRefusedMs + elapsedMs : 0,
    holdMs: Math.max(0, model.holdMs - elapsedMs),
  };
}

function minuteAfter(minute: ModelLimit['minute'], elapsedMs: number): ModelLimit['minute'] {
  const ageMs = minute.ageMs + elapsedMs;
  if (ageMs < MINUTE_MS) return { ...minute, ageMs };
  const before = ageMs < 2 * MINUTE_MS ? minute.answered : 0;
  return { ageMs: ageMs % MINUTE_MS, answered: 0, before };
}

/** What was answered in the last minute, or, in the first one, a minute so far. */
function answeredPerMinute({ minute: { ageMs, answered, before } }: ModelLimit): number {
  if (before === null) return (answered * MINUTE_MS) / Math.max(WINDOW_MS, ageMs);
  return answered + before * (1 - ageMs / MINUTE_MS);
}

/** What a model allows, requests and tokens a minute; null without a limit. What refusals have shown rises by itself. */
export function rateOf(model: ModelLimit): RateLimits {
  const { stated } = model;
  const learned = learnedRate(model);
  return {
    requestsPerMinute: lower(
      learned?.requestsPerMinute ?? null,
      statedRate(stated.requestsPerMinute),
    ),
    tokensPerMinute: lower(learned?.tokensPerMinute ?? null, statedRate(stated.tokensPerMinute)),
  };
}

/** What refusals have shown to be possible, as it has risen since. */
function learnedRate({ rate, risingMs, windowMs }: ModelLimit): ModelLimit['rate'] {
  if (rate === null) return null;
  const { requestsPerMinute, tokensPerMinute } = rate;
  const doublingMs = Math.max(
    DOUBLING_WINDOWS * windowMs,
    (DOUBLING_CALLS * MINUTE_MS) / requestsPerMinute,
  );
  const growth = 1 + (risingMs / doublingMs) ** 3;
  return {
    requestsPerMinute: requestsPerMinute * growth,
    tokensPerMinute: tokensPerMinute === null ? null : tokensPerMinute * growth,
  };
}

function statedRate(perMinute: number | null): number | null {
  return perMinute === null ? null : perMinute * USED_RATIO;
}

function lower(left: number | null, right: number | null): number | null {
  return left === null || right === null ? (left ?? right) : Math.min(left, right);
}

/**
 * The part of a lane that is one worker's, 0..1: an equal one, and of what some do not need, the others have more.
 *
 * @param worker.isCounted - Whether it reported in the window before.
 */
export function partOf(
  { workers: { count, hungry, usedRatio }, window }: Pick<LaneState, 'workers' | 'window'>,
  worker: { readonly isCounted: boolean; readonly isHungry: boolean },
): number {
  const workerCount = Math.max(1, window.count, count + (worker.isCounted ? 0 : 1));
  const isKnown = worker.isCounted && worker.isHungry && window.count <= count;
  return Math.max(1 / workerCount, isKnown ? (1 - usedRatio) / Math.max(1, hungry) : 0);
}

/**
 * The state after a worker has reported. Whoever reports first after the end of a window begins the next one.
 *
 * @param time.elapsedMs - Since `existing` was written, as the worker knows it.
 * @param time.nowMs - By its clock, since 1970.
 */
export function afterReport(
  existing: LaneState,
  report: LaneReport,
  { elapsedMs, nowMs }: { readonly elapsedMs: number; readonly nowMs: number },
): LaneState {
  const state = { ...stateAfter(existing, elapsedMs), atMs: nowMs };
  const models = { ...state.models };
  for (const [name, counted] of report.models)
    models[name] = withReport(models[name] ?? NO_LIMIT, counted);
  const { window } = state;
  const reported = report.isCheckIn
    ? {
        ...window,
        count: window.count + 1,
        hungry: window.hungry + (report.isHungry ? 1 : 0),
        usedRatio: window.usedRatio + (report.isHungry ? 0 : report.usedRatio),
      }
    : window;
  const next = { ...state, revision: state.revision + 1, window: reported, models };
  return window.ageMs < windowMs(state) ? next : nextWindow(next);
}

function withReport(existing: ModelLimit, report: ModelReport): ModelLimit {
  const { answered, sent, refused, tokens, countedMs, retryAfterMs, reason, stated } = report;
  // No limit a minute refuses everything for longer than one: what was learned meanwhile is not about a limit.
  const isBack = answered > 0 && existing.onlyRefusedMs > MINUTE_MS;
  const model = isBack ? { ...NO_LIMIT, windowMs: existing.windowMs } : existing;
  return {
    ...model,
    sent: model.sent + sent,
    refused: model.refused + refused,
    answered: model.answered + answered,
    tokens: model.tokens + tokens,
    countedMs: model.countedMs + countedMs,
    minute: { ...model.minute, answered: model.minute.answered + answered },
    onlyRefusedMs: answered > 0 ? 0 : Math.max(reason === null ? 0 : 1, model.onlyRefusedMs),
    retryAfterMs: Math.max(model.retryAfterMs, retryAfterMs),
    stated: {
      requestsPerMinute: stated.requestsPerMinute ?? existing.stated.requestsPerMinute,
      tokensPerMinute: stated.tokensPerMinute ?? existing.stated.tokensPerMinute,
    },
    reason: reason ?? model.reason,
  };
}

function nextWindow(state: LaneState): LaneState {
  const { no, ageMs, ...workers } = state.window;
  // After a pause, the counts are those of another time.
  const isStale = ageMs > 3 * windowMs(state);
  const workerCount = Math.max(1, workers.count, state.workers.count);
  const models = Object.entries(state.models).map(([name, model]) => {
    const next = isStale ? uncounted(model) : judged(model, workerCount);
    return [name, held({ ...next, windowMs: windowMs(state) }, ageMs)];
  });
  return {
    ...state,
    window: { no: no + 1, ageMs: 0, ...NO_WORKERS },
    workers,
    models: Object.fromEntries(models) as LaneState['models'],
  };
}

/** Holds a model that has answered nothing in a window of this age, as long as its vendor asks. */
function held(model: ModelLimit, ageMs: number): ModelLimit {
  const { onlyRefusedMs, retryAfterMs } = model;
  const holdMs = onlyRefusedMs < ageMs ? 0 : Math.min(retryAfterMs, limits.longestHoldMs);
  return { ...model, retryAfterMs: 0, holdMs: Math.max(model.holdMs, holdMs) };
}

/** Draws the conclusion from what was counted, if that is enough for one. */
function judged(model: ModelLimit, workerCount: number): ModelLimit {
  const { cut, isKnown, sent, refused, chanceRatio } = model;
  if (!isKnown) return { ...uncounted(model), isKnown: true };
  // Where nothing is answered, no rate can be measured.
  if (refused > 0 && refused >= sent) return uncounted(model);
  const refusedRatio = sent === 0 ? 0 : refused / sent;
  const cutAgain = (from: ModelLimit) => cutRate(from, refusedRatio, workerCount);
  if (cut === null) return isTolerated(model) ? tolerated(model, refusedRatio) : cutAgain(model);
  if (Math.max(refused, sent * cut.refusedRatio) < CERTAIN_REFUSALS) return model;
  const excessBefore = Math.max(0, cut.refusedRatio - chanceRatio);
  if (refusedRatio - chanceRatio <= HELPFUL_RATIO * excessBefore) {
    const confirmed = { ...model, cut: null, risingMs: 0 };
    return isTolerated(model) ? uncounted(confirmed) : cutAgain(confirmed);
  }
  // A larger share than before is that of a limit that has fallen.
  const mostBefore = (1 + HELPFUL_RATIO) * cut.refusedRatio;
  if (refusedRatio > Math.min(MOST_CHANCE_RATIO, mostBefore))
    return cutAgain({ ...model, cut: { ...cut, count: 0 } });
  // The first cut may have been too small.
  return cut.count > 1 ? takenBack(model, refusedRatio) : cutAgain(model);
}

/** Whether no more calls were refused than by chance, or than are let pass, and some deviations. */
function isTolerated({ sent, refused, chanceRatio }: ModelLimit): boolean {
  const most = (expected: number, deviations: number) =>
    expected + deviations * Math.sqrt(Math.max(2, expected));
  return refused < Math.max(most(sent * TOLERATED_RATIO, 2), most(sent * chanceRatio, 3));
}

function tolerated(model: ModelLimit, refusedRatio: number): ModelLimit {
  if (model.sent < DOUBLING_CALLS) return model;
  const chanceRatio = Math.min(model.chanceRatio, (model.chanceRatio + refusedRatio) / 2);
  return uncounted({ ...model, chanceRatio });
}

/** The cuts did not help: the refusals are by chance. */
function takenBack(model: ModelLimit, chanceRatio: number): ModelLimit {
  return uncounted({
    ...model,
    cut: null,
    rate: model.cut?.rateBefore ?? null,
    chanceRatio,
    chanceAgeMs: 0,
  });
}

/** Cuts the rate to what was answered, or to what was in the last minute where too little was to tell. */
function cutRate(model: ModelLimit, refusedRatio: number, workerCount: number): ModelLimit {
  const { sent, refused, answered, tokens, countedMs, chanceRatio } = model;
  const before = learnedRate(model);
  const minutes = Math.max(1, countedMs) / workerCount / MINUTE_MS;
  const used = Math.min(before?.requestsPerMinute ?? Number.POSITIVE_INFINITY, sent / minutes);
  const possible = (used * (1 - refusedRatio) * USED_RATIO) / (1 - chanceRatio);
  const floor = sent - refused < CERTAIN_REFUSALS ? answeredPerMinute(model) : 0;
  const requestsPerMinute = Math.max(1, possible, floor);
  const perCall = answered < CERTAIN_REFUSALS ? null : tokens / answered;
  const tokensPerMinute = perCall === null || perCall === 0 ? null : requestsPerMinute * perCall;
  const rateBefore = model.cut === null ? before : model.cut.rateBefore;
  // A cut that the floor has limited proves nothing.
  const isReal = requestsPerMinute <= possible;
  const cut = { rateBefore, count: (model.cut?.count ?? 0) + (isReal ? 1 : 0), refusedRatio };
  const rate = { requestsPerMinute, tokensPerMinute };
  return uncounted({ ...model, rate, risingMs: 0, cut, isKnown: false });
}

function uncounted(model: ModelLimit): ModelLimit {
  return { ...model, sent: 0, refused: 0, answered: 0, tokens: 0, countedMs: 0 };
}

const NO_LIMIT: ModelLimit = {
  rate: null,
  risingMs: 0,
  cut: null,
  isKnown: false,
  chanceRatio: 0,
  chanceAgeMs: 0,
  sent: 0,
  refused: 0,
  answered: 0,
  tokens: 0,
  countedMs: 0,
  minute: { ageMs: 0, answered: 0, before: null },
  windowMs: WINDOW_MS,
  onlyRefusedMs: 0,
  retryAfterMs: 0,
  holdMs: 0,
  stated: { requestsPerMinute: null, tokensPerMinute: null },
  reason: null,
};
