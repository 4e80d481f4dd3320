import { leaseLost, noBackgroundMode, unknownSubmission } from '../cells/cell-errors.ts';
import { logAttempt } from '../cells/handle-failure.ts';
import { NO_OUTPUT, UNKNOWN_USAGE } from '../domain/call.ts';
import type { PendingResponse } from '../domain/pending-response.ts';
import type { AcceptedSubmission, Submission } from '../domain/submission.ts';
import { assertNever, type ErrorCode, ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { RateLimitHeaders } from '../ports/governor.ts';
import type { BackgroundClient, BackgroundReply, ModelResponse } from '../ports/model-client.ts';
import { type CallOutcome, type FailedCall, toOutcome } from './call-outcome.ts';
import {
  endPaid,
  endUnpaid,
  type PermittedCall,
  reportResponse,
  reportStop,
  reserveCall,
  toModelRequest,
} from './model-call.ts';
import { grownOlder, newlySent, pollDelayMs, pollPending } from './pending-response.ts';

/** How much later than it is due a poll may be, ms, where clocks are set. */
const LATE_POLL_MS = 5_000;

/** A call whose response the vendor prepares in the background. */
interface BackgroundCall extends PermittedCall {
  readonly client: BackgroundClient;
}

/**
 * Submits a call, or asks for the response that was submitted before. While the vendor works on it, the cell waits in
 * the queue, and whoever has it then polls.
 */
export async function callInBackground(permitted: PermittedCall): Promise<CallOutcome> {
  const { cell, call, lane } = permitted;
  const { key, worker, journal } = cell;
  const { background: client } = worker.clientFor(lane);
  if (client === undefined) throw noBackgroundMode(call.request);
  const isFirst = journal.isFirst && journal.sentCount === 1;
  const existing = isFirst ? undefined : (await worker.ledger.readSubmissions(key)).get(call.step);
  const background = { ...permitted, client };
  if (existing?.state === 'accepted') return await poll(background, existing);
  return await submit(background, existing);
}

/** @param existing - The earlier submission of the step, of which no response is expected. */
async function submit(
  background: BackgroundCall,
  existing: Submission | undefined,
): Promise<CallOutcome> {
  const { cell, call, client, permit, startedAtMs } = background;
  const { worker, journal, lease } = cell;
  // Told to the vendor: without the name of the worker, which has that of its host.
  const callId = `${startedAtMs} ${journal.sentCount} ${worker.random().toString(36).slice(2)}`;
  const unsent = await reserveCall(cell, call, { callId });
  if (unsent !== undefined) return unsent;
  // The last worker died before it could note whether the vendor had accepted it.
  if (existing?.state === 'announced') logAttempt(cell, unknownSubmission(existing), 0);
  const announced: Submission = {
    schemaVersion: 1,
    state: 'announced',
    step: call.step,
    callId,
    ...newlySent(worker.clock),
    waitMs: permit.waitMs,
  };
  notePoll(background, announced);
  if (!(await replace(background, existing, announced)))
    return toOutcome(await endUnpaid(background, leaseLost({ isUnsent: true }), callId));
  const request = toModelRequest(background);
  const sent = { cell: cell.key, step: call.step, callId };
  worker.callNotes?.add(sent);
  const reply = await client.submit(request, callId, lease.signal).catch(toThriceError);
  if (reply instanceof ThriceError) {
    await endSubmission(background, announced, reply.code);
    if (reply.code === 'interrupted') reportStop(background);
    return toOutcome(await endUnpaid(background, reply, callId));
  }
  if (reply.kind === 'ended') return await record(background, announced, reply.response);
  const { endpoint, vendorId, rateLimits } = reply;
  const accepted: Submission = { ...announced, state: 'accepted', endpoint, vendorId };
  if (await replace(background, announced, accepted)) {
    worker.callNotes?.settle(sent);
    return await leave(background, accepted, rateLimits);
  }
  // Another worker has the cell and will ask for a response of its own.
  await client.cancel(request, reply, lease.signal).catch(() => undefined);
  return await record(background, accepted, withoutAnswer(reply, leaseLost()));
}

/** @param stored - As the latest poll has left it. */
async function poll(background: BackgroundCall, stored: AcceptedSubmission): Promise<CallOutcome> {
  const { cell, client, lane } = background;
  const { clock, polls, latePollMs: roundMs = LATE_POLL_MS } = cell.worker;
  const own = polls?.get(stored.callId);
  const submission = grownOlder(stored, { clock, capMs: limits.pollCapMs, roundMs, own });
  notePoll(background, submission);
  const request = toModelRequest(background);
  const ask = async () => orFault(await client.poll(request, submission, cell.lease.signal));
  const polled = await pollPending(submission, ask);
  if (polled.kind !== 'ended') await replace(background, stored, submission);
  const isLate = submission.ageMs >= lane.timeoutMs;
  switch (polled.kind) {
    case 'ended':
      return await record(background, submission, polled.response);
    case 'pending':
      if (isLate) return await giveUp(background, submission);
      return await leave(background, submission, polled.rateLimits);
    case 'forgotten':
      return await record(background, submission, withoutAnswer(submission, polled.error));
    case 'unreached': {
      const { error } = polled;
      if (error.code === 'unknown-response') return await leave(background, submission, {});
      if (error.class === 'rejected')
        return await record(background, submission, withoutAnswer(submission, error));
      if (error.class === 'transient' && !isLate)
        return toOutcome(await expectLater(background, submission, error));
      return toOutcome(await endUnpaid(background, error));
    }
    default:
      return assertNever(polled);
  }
}

/** Notes when this process has learned how old a response is. */
function notePoll(
  { cell: { worker } }: BackgroundCall,
  { callId, polledAtMs: wallMs }: Submission,
): void {
  worker.polls?.set(callId, { wallMs, monotonicMs: worker.clock.monotonicMs() });
}

/** Stops a response that takes longer than its lane allows. One that ends at the last moment counts. */
async function giveUp(
  background: BackgroundCall,
  submission: AcceptedSubmission,
): Promise<CallOutcome> {
  const { cell, client, lane } = background;
  const request = toModelRequest(background);
  const ask = async () => orFault(await client.cancel(request, submission, cell.lease.signal));
  const reply = await pollPending(submission, ask);
  const response = reply.kind === 'ended' ? reply.response : undefined;
  if (response !== undefined && response.fault === undefined)
    return await record(background, submission, response);
  const fault = new ThriceError({
    code: 'model-timeout',
    message: `response ${submission.vendorId} did not end within ${lane.timeoutMs / 1000} s and was cancelled`,
  });
  const late = response === undefined ? withoutAnswer(submission, fault) : { ...response, fault };
  return await record(background, submission, late);
}

/** Leaves a response to the vendor, which works on it. */
async function leave(
  background: BackgroundCall,
  submission: Submission,
  rateLimits: RateLimitHeaders,
): Promise<CallOutcome> {
  const { cell, call, permit, startedMs } = background;
  cell.worker.laneHealth.noteResponse(call.request.lane, startedMs);
  reportResponse(background);
  permit.settle({ kind: 'answered', usage: UNKNOWN_USAGE, rateLimits });
  return { kind: 'pending', delayMs: pollDelayMs(submission, { capMs: limits.pollCapMs }) };
}

/** Ends a poll that failed, of a response that is still expected: its budget stays reserved. */
async function expectLater(
  background: BackgroundCall,
  submission: Submission,
  { code, message, details, cause }: ThriceError,
): Promise<FailedCall> {
  const { retryAfterMs: askedMs } = details;
  const retryAfterMs = pollDelayMs(submission, {
    capMs: limits.pollCapMs,
    retryAfterMs: askedMs,
  });
  const error = new ThriceError({ code, message, details: { ...details, retryAfterMs }, cause });
  return { ...(await endUnpaid(background, error)), isExpected: true };
}

/** Records a response that has ended, as a call that took since its submission. */
async function record(
  background: BackgroundCall,
  submission: Submission,
  response: ModelResponse,
): Promise<CallOutcome> {
  if (response.fault?.code === 'interrupted') reportStop(background);
  const { callId, submittedAtMs: startedAtMs, waitMs, state, ageMs } = submission;
  const { clock, polls } = background.cell.worker;
  polls?.delete(callId);
  const tookMs = ageMs + clock.monotonicMs() - background.startedMs;
  const latencyMs = state === 'accepted' ? tookMs : response.latencyMs;
  const sent = { callId, startedAtMs, waitMs };
  const ended = await endPaid(background, { ...response, latencyMs }, sent);
  if (ended.kind === 'failed') await endSubmission(background, submission, ended.call.error.code);
  return ended;
}

/** Notes that a submission has led to no answer. */
async function endSubmission(
  background: BackgroundCall,
  submission: Submission,
  reason: ErrorCode,
): Promise<void> {
  const { schemaVersion, step, callId, submittedAtMs, polledAtMs, ageMs, waitMs } = submission;
  const facts = { schemaVersion, step, callId, submittedAtMs, polledAtMs, ageMs, waitMs };
  background.cell.worker.polls?.delete(callId);
  await replace(background, submission, { state: 'ended', ...facts, reason });
}

async function replace(
  { cell: { key, journal, worker } }: BackgroundCall,
  existing: Submission | undefined,
  submission: Submission,
): Promise<boolean> {
  return await journal.persist(() => worker.ledger.replaceSubmission(key, existing, submission));
}

/** What is wrong with a body that may be whole the next time it is asked for, unless it says how the response ended. */
const BROKEN_BODIES: readonly ErrorCode[] = [
  'connection-failed',
  'truncated-response',
  'model-timeout',
  'interrupted',
];

/** @throws {ThriceError} The fault of a body that did not arrive as the vendor meant it. */
function orFault(reply: BackgroundReply): BackgroundReply {
  if (reply.kind === 'pending') return reply;
  const { fault, finishReason } = reply.response;
  const isBroken = fault !== undefined && BROKEN_BODIES.includes(fault.code);
  if (isBroken && finishReason === null) throw fault;
  return reply;
}

/** A response that was accepted, and so may be billed, but of which nothing was received. */
function withoutAnswer({ endpoint, vendorId }: PendingResponse, fault: ThriceError): ModelResponse {
  return {
    endpoint,
    servedModel: null,
    output: NO_OUTPUT,
    finishReason: null,
    rawFinishReason: null,
    usage: UNKNOWN_USAGE,
    latencyMs: 0,
    ttftMs: null,
    rateLimits: {},
    raw: { id: vendorId },
    fault,
  };
}
