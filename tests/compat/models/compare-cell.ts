import type { Attempt, JournalEntry } from '@thrice/core';
import type { Outcome } from '../../../packages/core/src/domain/cell.ts';
import { type ExpectedReading, expectReading, type KnownFault } from './expected-reading.ts';
import type { HttpExchange } from './http-exchanges.ts';

/** All that Thrice recorded of a cell. */
export interface RecordedCell {
  /** As the header of its requests names it. */
  readonly name: string;
  readonly outcome: Outcome;
  readonly attemptLog: readonly Attempt[];
  readonly answer: JournalEntry | undefined;
  readonly discarded: readonly JournalEntry[];
}

/** How the records of a cell differ from what crossed the wire. */
export interface CellComparison {
  /** In sentences; empty if nothing differs. */
  readonly problems: readonly string[];
  readonly wrongClassCount: number;
  /** Requests that are recorded nowhere, and paid answers that are not in the journal. */
  readonly lostCount: number;
}

/**
 * Compares a cell with the exchanges of its requests, which are one after the other: the one that answers is in the
 * journal, every other one is an attempt with the right class, and every one with a 2xx status is a call.
 */
export function compareCell(
  cell: RecordedCell,
  exchanges: readonly HttpExchange[],
  faults: readonly KnownFault[],
): CellComparison {
  const { name, attemptLog, answer, discarded } = cell;
  const readings = exchanges.map((exchange) => expectReading(exchange, faults));
  const recordedCount = attemptLog.length + (answer === undefined ? 0 : 1);
  const wrong = attemptLog.flatMap((attempt, index) => {
    const difference = differenceOfAttempt(attempt, readings[index]);
    const body = exchanges[index]?.body.slice(0, 300) ?? '';
    return difference === undefined ? [] : [`${name}: ${difference}; received ${body}`];
  });
  const paidCount = exchanges.filter(({ status = 0 }) => status >= 200 && status < 300).length;
  const callCount = discarded.length + (answer === undefined ? 0 : 1);
  const unrecordedCount = Math.max(0, exchanges.length - recordedCount);
  const unpaidCount = Math.max(0, paidCount - callCount);
  return {
    wrongClassCount: wrong.length,
    lostCount: Math.max(unrecordedCount, unpaidCount),
    problems: [
      ...wrong,
      ...(exchanges.length === recordedCount
        ? []
        : [`${name}: ${exchanges.length} requests, but ${recordedCount} attempts and answers`]),
      ...(paidCount === callCount
        ? []
        : [`${name}: ${paidCount} paid responses, but ${callCount} calls in the journal`]),
      ...differencesOfAnswer(answer, readings.at(-1)).map((difference) => `${name}: ${difference}`),
    ],
  };
}

function differenceOfAttempt(
  { error }: Attempt,
  reading: ExpectedReading | undefined,
): string | undefined {
  if (reading === undefined) return `an attempt without a request: ${error.code} ${error.message}`;
  if (reading.kind === 'answer') return `an answer taken as ${error.code}: ${error.message}`;
  if (error.class === reading.errorClass && error.code === (reading.code ?? error.code))
    return undefined;
  return `expected ${reading.code ?? reading.errorClass} for ${reading.why}, recorded ${error.class}/${error.code}: ${error.message}`;
}

function differencesOfAnswer(
  answer: JournalEntry | undefined,
  reading: ExpectedReading | undefined,
): readonly string[] {
  if (answer === undefined) {
    return reading?.kind === 'answer' ? ['the server answered, but the cell has no answer'] : [];
  }
  if (reading === undefined) return ['an answer without a request'];
  if (reading.kind === 'failure') return [`${reading.why} taken as an answer`];
  const { output, call } = answer;
  const differences: readonly (readonly [string, unknown, unknown])[] = [
    ['text', reading.text, output.text],
    ['input tokens', reading.inputTokens, call.inputTokens],
    ['output tokens', reading.outputTokens, call.outputTokens],
  ];
  return differences.flatMap(([what, sent, recorded]) =>
    sent === recorded
      ? []
      : [`${what}: sent ${JSON.stringify(sent)}, recorded ${JSON.stringify(recorded)}`],
  );
}
