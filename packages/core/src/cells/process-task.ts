import { breakersFor, toOpenBreakers } from '../domain/breaker.ts';
import type { CellResult } from '../domain/cell.ts';
import type { CellTask } from '../domain/cell-task.ts';
import { isCounted } from '../domain/count-cells.ts';
import { type GroupHeader, groupOfRun } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import type { ActiveGroups } from '../ports/active-groups.ts';
import type { DeadLetterQueue } from '../ports/dead-letter-queue.ts';
import type { GroupRequests } from '../ports/group-requests.ts';
import type { GroupRecord, Ledger } from '../ports/ledger.ts';
import type { Delivery } from '../ports/task-queue.ts';
import { resolveBenchmark } from '../spec/resolve-benchmark.ts';
import { executeCell } from './execute-cell.ts';
import type { Settlement, Worker } from './worker.ts';
import type { WorkerEvent } from './worker-events.ts';

/** A worker that is called for one task at a time and shares nothing with others but the stores. */
export interface TaskWorker extends Omit<Worker, 'benchmark' | 'openBreakers'> {
  readonly activeGroups: ActiveGroups;
  readonly deadLetterQueue: DeadLetterQueue;
  readonly requests: GroupRequests;
}

const ACKNOWLEDGE: Settlement = { kind: 'acknowledge' };

/**
 * Answers one task and does what follows from its end: a failed cell gets its message, a blocked lane's
 * cell is deferred, the last cell of a group asks for the results.
 *
 * State first: the cell is done before its message is sent, deferred before its task is let go. Whoever
 * finds the cell done makes up for what its worker may not have come to.
 *
 * @param isRedelivered - Somebody had the task before us and may have died over it. If not, a cell that is
 *   done already asks for no results; where that got lost, the reconciler asks.
 * @returns `acknowledge` also where the task is needed no more: deferred, or of a cancelled group.
 * @throws {ThriceError} What the stores throw; class `internal` for our own bugs.
 */
export async function processTask(
  delivery: Delivery,
  isRedelivered: boolean,
  worker: TaskWorker,
): Promise<Settlement> {
  const { task } = delivery;
  const group = await readGroupOf(task, worker.ledger);
  if (group.state === 'cancelled') {
    // Resuming sends what is missing; until then its tasks would only go round.
    await reopen(task, worker);
    return ACKNOWLEDGE;
  }
  const benchmark = resolveBenchmark(group.header.spec, group.header.specSource.path);
  const openBreakers = toOpenBreakers(await worker.ledger.listOpenBreakers());
  const results: CellResult[] = [];
  const observe = (event: WorkerEvent) => {
    if (event.kind === 'cell-completed') results.push(event.result);
    if (event.kind === 'breaker-opened') openBreakers.set(event.breaker.breakerKey, event.breaker);
    worker.observe(event);
  };
  const settlement = await executeCell(delivery, { ...worker, benchmark, observe, openBreakers });
  if (settlement.kind === 'release') {
    const config = benchmark.configs.find(({ name }) => name === task.config);
    const [breaker] = config === undefined ? [] : breakersFor(config, openBreakers);
    if (breaker === undefined) return settlement;
    await reopen(task, worker);
    await worker.activeGroups.defer(breaker.breakerKey, group.header.group);
  }
  await reportEnd(delivery, { own: results.at(0), isRedelivered, header: group.header }, worker);
  return ACKNOWLEDGE;
}

async function readGroupOf({ run }: CellTask, ledger: Ledger): Promise<GroupRecord> {
  const group = await ledger.readGroup(groupOfRun(run));
  if (group !== undefined) return group;
  throw new ThriceError({
    code: 'invariant-violated',
    message: `task of ${run}, whose group is not in the ledger`,
  });
}

/**
 * Takes the earlier result of a rerun's cell away before its task is let go: what sends its task again,
 * when the lane opens or the group is resumed, looks for cells without a result.
 */
async function reopen(
  { run, config, id, generation }: CellTask,
  { ledger, owner }: TaskWorker,
): Promise<void> {
  if (generation === 0) return;
  const key = { run, config, id };
  const claim = await ledger.claimCell(key, generation, owner);
  if (claim.kind === 'claimed') await ledger.releaseCell(key, owner, [], claim.cell.attempts);
}

/** Does what follows from the end of a cell, be it ours or that of somebody who may have died since. */
async function reportEnd(
  { lane, task }: Delivery,
  end: {
    readonly own: CellResult | undefined;
    readonly isRedelivered: boolean;
    readonly header: GroupHeader;
  },
  worker: TaskWorker,
): Promise<void> {
  const { own, isRedelivered, header } = end;
  const result = own ?? (await readResult(task, worker.ledger));
  if (result === undefined) return;
  if (result.outcome === 'failed' && result.error !== null) {
    await worker.deadLetterQueue.send({ v: 1, lane, task, error: result.error });
  }
  // During a rerun the tallies are full again and again: the reconciler asks then, when it comes by.
  if (task.generation > 0) await worker.activeGroups.add(header.group);
  // A task that came twice, its cell done by somebody who lives, has nothing to ask for.
  else if (own !== undefined || isRedelivered) await requestResults(header, worker);
}

/** What the task's generation came to; undefined if the cell has gone on since. */
async function readResult(
  { run, config, id, generation }: CellTask,
  ledger: Ledger,
): Promise<CellResult | undefined> {
  const cell = (await ledger.readCells(run, config, [id])).get(id);
  return cell?.generation === generation ? cell.result : undefined;
}

/** Asks for the results after the group's last cell. */
async function requestResults(
  header: GroupHeader,
  { ledger, requests }: TaskWorker,
): Promise<void> {
  const tallies = await Promise.all(header.runs.map((run) => ledger.readTallies(run)));
  if (isCounted(header, tallies.flat())) await requests.requestResults(header.group);
}
