import type { Benchmark, Config } from '../domain/benchmark.ts';
import { blockersOf } from '../domain/breaker.ts';
import { type CellKey, hasScore } from '../domain/cell.ts';
import type { CellTask } from '../domain/cell-task.ts';
import { ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Solver, SolverRegistry } from '../ports/solver.ts';
import type { Delivery } from '../ports/task-queue.ts';
import { gradeResult, isGradedBy } from '../scorers/grade-result.ts';
import { solverRegistry } from '../solvers/registry.ts';
import { CellExecution } from './cell-execution.ts';
import { readQuestion } from './read-question.ts';
import type { Settlement, Worker } from './worker.ts';

/**
 * Executes one cell: claims it, performs the steps that its solver asks for, grades the answer and completes it.
 *
 * A crash between any two lines is harmless: before the claim nothing has happened; after it the lease expires;
 * after a commit the next worker finds the call in the journal and does not pay again.
 *
 * @throws {ThriceError} Class `internal`: a bug; the task is not acknowledged. What the stores throw, after the
 *   cell is released.
 */
export async function executeCell(delivery: Delivery, worker: Worker): Promise<Settlement> {
  const { run, id, config: configName, generation } = delivery.task;
  const config = findConfig(configName, run, worker.benchmark);
  const solver = findSolver(config, worker.solvers ?? solverRegistry);
  const [breaker] = blockersOf(config.roles, worker.openBreakers);
  if (breaker !== undefined) {
    const { breakerKey } = breaker;
    return { kind: 'release', delayMs: limits.deferredDelayMs, breakerKey };
  }
  const key: CellKey = { run, id, config: configName };
  if (generation > 0 && (await isScored(delivery.task, config, worker))) {
    return { kind: 'acknowledge' };
  }
  const claim = await worker.ledger.claimCell(key, generation, worker.owner);
  if (claim.kind === 'done') return { kind: 'acknowledge' };
  if (claim.kind === 'held') return { kind: 'release', delayMs: limits.heartbeatMs };

  using lease = worker.heartbeat.hold(key, delivery);
  const { cell, isFirst } = claim;
  const { question } = delivery.task;
  const init = { key, question, config, solver, worker, cell, isFirst, lease };
  const execution = new CellExecution(init);
  try {
    return await execution.run(await readQuestion(worker.blobs, question));
  } catch (thrown) {
    return await execution.abort(toThriceError(thrown));
  }
}

/** Whether a cell without a score has got one from a rescore since its rerun was asked for. */
async function isScored(
  { run, id, config: name, question }: CellTask,
  config: Config,
  worker: Worker,
): Promise<boolean> {
  const result = (await worker.ledger.readCells(run, name, [id])).get(id)?.result;
  if (result === undefined || isGradedBy(config, result)) return false;
  const stored = await readQuestion(worker.blobs, question);
  return hasScore((await gradeResult(result, stored, config, worker)).outcome);
}

function findConfig(name: string, run: string, { configs }: Benchmark): Config {
  const config = configs.find((candidate) => candidate.name === name);
  if (config !== undefined) return config;
  throw new ThriceError({
    code: 'invariant-violated',
    message: `task of ${run} names config "${name}", which its group does not have`,
  });
}

function findSolver({ name, solver: kind }: Config, solvers: SolverRegistry): Solver {
  const solver = solvers.get(kind);
  if (solver !== undefined) return solver;
  throw new ThriceError({
    code: 'invariant-violated',
    message: `config "${name}" names solver "${kind}", which this worker does not have`,
  });
}
