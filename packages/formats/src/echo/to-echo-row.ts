import { type CellRow, isOfAnswer, ThriceError } from '@thrice/core';
import { type EchoRow, echoRowSchema, parseTask } from './echo-row.ts';

/** As much of an error as Echo keeps, characters. */
const ERROR_CHARS = 200;

/**
 * Returns a row as Echo has it: as it was, if it is from there.
 *
 * @returns Undefined for a cell that was not attempted: Echo stops before it.
 * @throws {ThriceError} `unsupported` for a question that is not of BIG-Bench Hard or HumanEval.
 */
export function toEchoRow(row: CellRow): EchoRow | undefined {
  if (row.imported !== undefined) return echoRowSchema.parse(row.imported.row);
  if (row.outcome === 'not-attempted') return undefined;
  const task = parseTask(row.id);
  if (task === undefined) {
    throw new ThriceError({
      code: 'unsupported',
      message: `question "${row.id}": expected bbh/SUBTASK/INDEX or HumanEval/INDEX, as Echo names its tasks; the questions of dataset "bbh" are named so`,
    });
  }
  return {
    task_id: row.id,
    arm: row.config,
    passed: row.score === 1,
    detail: describeOutcome(row),
    wall_seconds: row.latencyMs === null ? null : row.latencyMs / 1000,
    sub_calls: row.outcome === 'failed' ? 0 : countCalls(row),
    ...(task.subtask === undefined ? {} : { benchmark: 'bbh' as const }),
  };
}

function describeOutcome({ outcome, score, answer, target, reason, error }: CellRow): string {
  switch (outcome) {
    case 'scored':
      return score === 1 ? 'passed' : `expected ${target?.join(' or ')} got ${answer}`;
    case 'unparsed':
      return 'unparseable';
    case 'ungraded':
      return `scorer Ungraded: ${reason}`;
    case 'failed':
    case 'not-attempted':
      return `${error?.code}: ${error?.message.slice(0, ERROR_CHARS)}`;
  }
}

/** Echo does not count a judge on the machine itself. */
function countCalls({ config, calls }: CellRow): number {
  const own = calls.filter(isOfAnswer);
  return config === 'echo-small-judge'
    ? own.filter(({ step }) => step !== 'judge').length
    : own.length;
}
