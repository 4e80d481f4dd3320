import type { Config } from '../domain/benchmark.ts';
import type { CellResult } from '../domain/cell.ts';
import type { CellTask } from '../domain/cell-task.ts';
import type { Closure } from '../domain/closure.ts';
import { type GroupHeader, groupOfRun } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import { resolveBenchmark } from '../planning/resolve-benchmark.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import type { GroupRequests } from '../ports/group-requests.ts';
import type { GroupRecord, Ledger } from '../ports/ledger.ts';
import type { Delivery } from '../ports/task-queue.ts';
import type { Watchlist } from '../ports/watchlist.ts';
import { isCounted } from './count-cells.ts';
import { executeCell, type Settlement, type Worker } from './execute-cell.ts';
import type { WorkerEvent } from './worker-events.ts';

/** A worker that is called for one task at a time and shares nothing with others but the stores. */
export interface TaskWorker extends Omit<Worker, 'benchmark' | 'closureOf'> {
  readonly watchlist: Watchlist;
  readonly deadLetters: DeadLetters;
  readonly requests: GroupRequests;
}

const ACKNOWLEDGE: Settlement = { kind: 'acknowledge' };

/**
 * Answers one task and does what follows from its end: a failed cell gets its letter, a closed lane's
 * cell is parked, the last cell of a group asks for the results.
 *
 * State first: the cell is done before its letter is sent, parked before its task is let go. Whoever
 * finds the cell done makes up for what its worker may not have come to.
 *
 * @param isRedelivered - Somebody had the task before us and may have died over it. If not, a cell that is
 *   done already asks for no results; where that got lost, the steward asks.
 * @returns `acknowledge` also where the task is needed no more: parked, or of a cancelled group.
 * @throws {ThriceError} What the stores throw; class `defect` for our own bugs.
 */
export async function answerTask(
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
  const closures = new Map<string, Closure>();
  for (const closure of await worker.ledger.listClosures()) closures.set(closure.subject, closure);
  const results: CellResult[] = [];
  const observe = (event: WorkerEvent) => {
    if (event.kind === 'cell-completed') results.push(event.result);
    if (event.kind === 'lane-closed') closures.set(event.closure.subject, event.closure);
    worker.observe(event);
  };
  const closureOf = (subject: string) => closures.get(subject);
  const settlement = await executeCell(delivery, { ...worker, benchmark, observe, closureOf });
  if (settlement.kind === 'release') {
    const config = benchmark.configs.find(({ name }) => name === task.config);
    const closure = closureOfConfig(closures, config);
    if (closure === undefined) return settlement;
    await reopen(task, worker);
    await worker.watchlist.park(closure.subject, group.header.group);
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

function closureOfConfig(
  closures: ReadonlyMap<string, Closure>,
  config: Config | undefined,
): Closure | undefined {
  if (config === undefined) return undefined;
  return closures.get(config.lane) ?? closures.get(`${config.lane}/${config.model}`);
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
  if (claim.kind === 'claimed') await ledger.releaseCell(key, owner, [], claim.cell.tries);
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
    await worker.deadLetters.send({ v: 1, lane, task, error: result.error });
  }
  // During a rerun the tallies are full again and again: the steward asks then, when it comes by.
  if (task.generation > 0) await worker.watchlist.watch(header.group);
  // A task that came twice, its cell done by somebody who lives, has nothing to ask for.
  else if (own !== undefined || isRedelivered) await askForResults(header, worker);
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
async function askForResults(header: GroupHeader, { ledger, requests }: TaskWorker): Promise<void> {
  const tallies = await Promise.all(header.runs.map((run) => ledger.readTallies(run)));
  if (isCounted(header, tallies.flat())) await requests.askForResults(header.group);
}
