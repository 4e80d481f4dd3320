import type { CallJournal } from '../calls/call-journal.ts';
import type { CallOption } from '../calls/call-options.ts';
import type { SharedCalls } from '../calls/shared-calls.ts';
import type { Config, Lane } from '../domain/benchmark.ts';
import type { ServedModelPolicy } from '../domain/benchmark-spec.ts';
import type { JournalPlace } from '../domain/call.ts';
import type { CellKey } from '../domain/cell.ts';
import type { QuestionRange } from '../domain/cell-task.ts';
import { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { StepRequest } from '../ports/solver.ts';
import type { CellAttempts } from './cell-attempts.ts';
import type { HeldLease } from './heartbeat.ts';
import type { Worker } from './worker.ts';

/** A cell that a worker has claimed, in one delivery. */
export interface CellAtWork {
  readonly key: CellKey;
  readonly question: QuestionRange;
  readonly config: Config;
  readonly generation: number;
  /** When the delivery began, ms since 1970. */
  readonly startedAtMs: number;
  readonly lease: HeldLease;
  readonly journal: CallJournal;
  readonly attempts: CellAttempts;
  readonly sharedCalls: SharedCalls;
  readonly worker: Worker;
}

/** A call of a step, with what was asked, as the journal and the response cache name it. */
export interface IdentifiedCall extends CallOption {
  readonly fingerprint: string;
  readonly sample: number;
}

/** Where in the cell's journal a call is recorded. */
export function placeOf(
  { journal, generation, attempts }: CellAtWork,
  { step, fingerprint, sample }: IdentifiedCall,
): JournalPlace {
  const position = journal.performed.size;
  return { step, fingerprint, sample, position, generation, failedAttempts: attempts.total };
}

/** The lane of a request, as the benchmark describes it. */
export function laneOf({ config, worker }: CellAtWork, { lane: name }: StepRequest): Lane {
  const lane = worker.benchmark.lanes.get(name);
  if (lane !== undefined) return lane;
  throw new ThriceError({
    code: 'invariant-violated',
    message: `solver "${config.solver}" calls lane "${name}", which the benchmark does not have`,
  });
}

/** What to do with an answer of another model than that of the request. */
export function servedModelPolicyOf(cell: CellAtWork, request: StepRequest): ServedModelPolicy {
  return cell.config.servedModel ?? laneOf(cell, request).servedModel;
}

/** Whether a call after this wait would end before the worker has to. */
export function hasTimeAfter(
  { worker }: CellAtWork,
  waitMs: number,
  { lane, isBackground }: Pick<StepRequest, 'lane' | 'isBackground'>,
): boolean {
  const timeoutMs = worker.benchmark.lanes.get(lane)?.timeoutMs ?? 0;
  const callMs = isBackground ? limits.backgroundRequestMs : timeoutMs;
  return worker.hasTimeFor?.(waitMs + callMs) ?? true;
}
