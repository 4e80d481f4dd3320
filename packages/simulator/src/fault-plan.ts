import type { Fault, FaultOf, Faults } from './load-faults.ts';
import { seededRandom } from './seeded-random.ts';

/** What the conditions of a fault look at. */
interface FaultContext {
  /** 1-based, counted over the server's life. */
  readonly requestNumber: number;
  /** Since the first request, milliseconds. */
  readonly elapsedMs: number;
  readonly model: string;
  readonly questionKey: string;
  /** How many times the same question was asked before. */
  readonly askedBeforeCount: number;
  /** Whether the model has an answer: faults that spoil an answer pass over errors. */
  readonly hasAnswer: boolean;
}

/** A fault to inject now. */
export interface PlannedFault {
  readonly fault: Fault;
  /** Until the fault's window ends, seconds; `undefined` without a window. */
  readonly windowRestSeconds: number | undefined;
}

/** Decides per request which fault, if any, is injected; keeps count of its own injections. */
export interface FaultPlan {
  pick(context: FaultContext): PlannedFault | undefined;
}

/** Faults are tried in file order; the first whose conditions all hold wins. */
export function createFaultPlan({ seed, faults }: Faults): FaultPlan {
  const watches = faults.map((fault, index) => createFaultWatch(fault, seed, index));
  return {
    pick(context) {
      for (const watch of watches) {
        const planned = watch(context);
        if (planned !== undefined) return planned;
      }
      return undefined;
    },
  };
}

type SecondsRange = NonNullable<FaultOf<'hang'>['betweenSeconds']>;
type FaultWatch = (context: FaultContext) => PlannedFault | undefined;

function createFaultWatch(fault: Fault, seed: number, index: number): FaultWatch {
  const injectedByQuestion = new Map<string, number>();
  const window = fault.window === undefined ? undefined : createWindow(fault.window);
  let injectedCount = 0;

  function isUsedUp({ questionKey }: FaultContext): boolean {
    if (injectedCount >= (fault.count ?? Infinity)) return true;
    if (fault.maxPerQuestion === undefined) return false;
    return (injectedByQuestion.get(questionKey) ?? 0) >= fault.maxPerQuestion;
  }

  function isDrawn({ questionKey, askedBeforeCount }: FaultContext): boolean {
    if (fault.rate === undefined) return true;
    return seededRandom(seed, index, questionKey, askedBeforeCount)() < fault.rate;
  }

  return (context) => {
    if (!isMeant(fault, context) || isUsedUp(context) || !isDrawn(context)) return undefined;
    const windowRestSeconds = window?.(context.elapsedMs);
    if (window !== undefined && windowRestSeconds === undefined) return undefined;
    injectedCount += 1;
    if (fault.maxPerQuestion !== undefined) {
      const before = injectedByQuestion.get(context.questionKey) ?? 0;
      injectedByQuestion.set(context.questionKey, before + 1);
    }
    return { fault, windowRestSeconds };
  };
}

/** Lets so many requests through per window; beyond, gives the seconds until the next window. */
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

/** The conditions that look at the request alone. */
function isMeant(fault: Fault, context: FaultContext): boolean {
  const { requestNumber, elapsedMs, model, hasAnswer } = context;
  if (fault.model !== undefined && fault.model !== model) return false;
  if (!hasAnswer && spoilsAnswer(fault)) return false;
  const [firstRequest, lastRequest] = fault.requests ?? [1];
  if (requestNumber < firstRequest || requestNumber > (lastRequest ?? Infinity)) return false;
  const [fromSeconds, toSeconds] = activeSecondsOf(fault) ?? [0];
  return elapsedMs >= fromSeconds * 1000 && elapsedMs < (toSeconds ?? Infinity) * 1000;
}

function activeSecondsOf(fault: Fault): SecondsRange | undefined {
  // In these two, `seconds` is how long they take.
  return fault.kind === 'hang' || fault.kind === 'drip' ? fault.betweenSeconds : fault.seconds;
}

function spoilsAnswer({ kind }: Fault): boolean {
  return (
    kind === 'drip' ||
    kind === 'truncated-json' ||
    kind === 'empty-content' ||
    kind === 'wrong-model'
  );
}
