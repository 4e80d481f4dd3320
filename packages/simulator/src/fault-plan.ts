import { seededRandom } from '@thrice/core';
import type { Fault, FaultOf, Faults } from './load-faults.ts';

/** The facts about a request that fault conditions use. */
interface RequestFacts {
  /** 1-based, counted since the server started. */
  readonly requestNumber: number;
  /** Since the first request, milliseconds. */
  readonly elapsedMs: number;
  readonly model: string;
  readonly questionKey: string;
  /** What is drawn depends on it: the same in every group. */
  readonly drawKey: string;
  /** How many times the same question was asked before. */
  readonly askedBeforeCount: number;
  /** Whether the model has an answer. Faults that corrupt an answer skip requests without one. */
  readonly hasAnswer: boolean;
}

/** A fault to inject now. */
export interface PlannedFault {
  readonly fault: Fault;
  /** Seconds until the fault's window ends; `undefined` without a window. */
  readonly windowRestSeconds: number | undefined;
}

/** Decides for each request which fault to inject, if any, and counts the injections. */
export interface FaultPlan {
  pick(context: RequestFacts): PlannedFault | undefined;
}

/** Builds a plan that checks faults in file order and injects the first whose conditions all hold. */
export function createFaultPlan({ seed, faults }: Faults): FaultPlan {
  const triggers = faults.map((fault, index) => createFaultTrigger(fault, seed, index));
  return {
    pick(context) {
      for (const trigger of triggers) {
        const planned = trigger(context);
        if (planned !== undefined) return planned;
      }
      return undefined;
    },
  };
}

type SecondsRange = NonNullable<FaultOf<'hang'>['betweenSeconds']>;
/** Returns the fault if its conditions hold for a request. */
type FaultTrigger = (context: RequestFacts) => PlannedFault | undefined;

function createFaultTrigger(fault: Fault, seed: number, index: number): FaultTrigger {
  const injectedByQuestion = new Map<string, number>();
  const window = fault.window === undefined ? undefined : createWindow(fault.window);
  let injectedCount = 0;

  function isUsedUp({ questionKey }: RequestFacts): boolean {
    if (injectedCount >= (fault.count ?? Infinity)) return true;
    if (fault.maxPerQuestion === undefined) return false;
    return (injectedByQuestion.get(questionKey) ?? 0) >= fault.maxPerQuestion;
  }

  function isDrawn({ drawKey, askedBeforeCount }: RequestFacts): boolean {
    if (fault.rate === undefined) return true;
    return seededRandom(seed, index, drawKey, askedBeforeCount)() < fault.rate;
  }

  return (context) => {
    if (!matchesRequest(fault, context) || isUsedUp(context) || !isDrawn(context)) return undefined;
    const windowRestSeconds = window?.(context.elapsedMs);
    if (window !== undefined && windowRestSeconds === undefined) return undefined;
    injectedCount += 1;
    if (fault.maxPerQuestion !== undefined) {
      const count = injectedByQuestion.get(context.questionKey) ?? 0;
      injectedByQuestion.set(context.questionKey, count + 1);
    }
    return { fault, windowRestSeconds };
  };
}

/** Passes a number of requests per window (undefined), then returns the seconds until the next one. */
function createWindow(limit: {
  readonly requests: number;
  readonly seconds: number;
}): (elapsedMs: number) => number | undefined {
  let currentIndex = 0;
  let passedCount = 0;
  return (elapsedMs) => {
    const elapsedSeconds = elapsedMs / 1000;
    const index = Math.floor(elapsedSeconds / limit.seconds);
    if (index !== currentIndex) {
      currentIndex = index;
      passedCount = 0;
    }
    if (passedCount >= limit.requests) return (index + 1) * limit.seconds - elapsedSeconds;
    passedCount += 1;
    return undefined;
  };
}

/** Checks the conditions that depend only on the request. */
function matchesRequest(fault: Fault, context: RequestFacts): boolean {
  const { requestNumber, elapsedMs, model, hasAnswer } = context;
  if (fault.model !== undefined && fault.model !== model) return false;
  if (!hasAnswer && corruptsAnswer(fault)) return false;
  const [firstRequest, lastRequest] = fault.requests ?? [1];
  if (requestNumber < firstRequest || requestNumber > (lastRequest ?? Infinity)) return false;
  const [fromSeconds, toSeconds] = activeSecondsOf(fault) ?? [0];
  return elapsedMs >= fromSeconds * 1000 && elapsedMs < (toSeconds ?? Infinity) * 1000;
}

function activeSecondsOf(fault: Fault): SecondsRange | undefined {
  // For these two, `seconds` is the fault's duration.
  return fault.kind === 'hang' || fault.kind === 'drip' ? fault.betweenSeconds : fault.seconds;
}

function corruptsAnswer({ kind }: Fault): boolean {
  return (
    kind === 'drip' ||
    kind === 'truncated-json' ||
    kind === 'empty-content' ||
    kind === 'wrong-model' ||
    kind === 'content-filter' ||
    kind === 'no-choices'
  );
}
