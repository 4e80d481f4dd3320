import {
  type DeadLetterScan,
  dropLetters,
  type ErrorClass,
  type LetterFilter,
  type LetterList,
  type LetterOrder,
  type LetterReport,
  listLetters,
  type ReplayStores,
  replayLetters,
} from '@thrice/core';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { findRuns } from './find-group.ts';
import { chooseConfigs } from './prepare-run.ts';
import {
  describeList,
  describeReport,
  describeUnseen,
  listToJson,
  renderLetters,
  renderLetterTable,
  reportToJson,
  showToJson,
} from './render/letters-view.ts';
import type { Terminal } from './terminal.ts';

/** Options that say which dead letters are meant. */
export interface LetterOptions {
  readonly run?: string;
  readonly config?: string;
  readonly errorClass?: ErrorClass | undefined;
  readonly json?: boolean;
}

/** A stage's dead letters, and what a replay of them takes. */
export interface LetterStage extends ReplayStores {
  readonly name: string;
  readonly openLetters: () => DeadLetterScan;
}

/** What each subcommand is given. */
export interface LetterCommand {
  readonly terminal: Terminal;
  readonly stage: LetterStage;
  readonly options: LetterOptions;
  /** Ends it after the letters in hand. */
  readonly stop: AbortSignal;
}

/** `thrice dlq ls`: one line for each cell that has dead letters. */
export async function listDeadLetters(command: LetterCommand): Promise<ExitCode> {
  const { terminal, stage, options } = command;
  const list = await withLetters(command, (order) => listLetters(order, stage.ledger));
  if (options.json === true) terminal.print(JSON.stringify(listToJson(list, stage.name), null, 2));
  else {
    if (list.cells.length > 0) terminal.print(renderLetterTable(list.cells));
    terminal.print(describeList(list, stage.name));
  }
  return endOf(list, terminal);
}

/** `thrice dlq show`: the dead letters in full. */
export async function showDeadLetters(command: LetterCommand): Promise<ExitCode> {
  const { terminal, stage, options } = command;
  const list = await withLetters(command, (order) => listLetters(order, stage.ledger));
  if (options.json === true) terminal.print(JSON.stringify(showToJson(list, stage.name), null, 2));
  else if (list.cells.length + list.unreadable.length > 0) terminal.print(renderLetters(list));
  else terminal.print(describeList(list, stage.name));
  return endOf(list, terminal);
}

/** `thrice dlq replay`: sends the cells of dead letters to their lanes once more. */
export async function replayDeadLetters(command: LetterCommand): Promise<ExitCode> {
  const report = await withLetters(command, (order) => replayLetters(order, command.stage));
  return endReport(report, command);
}

/** `thrice dlq drop`: deletes dead letters. */
export async function dropDeadLetters(command: LetterCommand): Promise<ExitCode> {
  const report = await withLetters(command, dropLetters);
  return endReport(report, command);
}

/** Looks through the letters that are meant; what is not removed is given back at the end, come what may. */
async function withLetters<T>(
  { stage, options, stop }: LetterCommand,
  use: (order: LetterOrder) => Promise<T>,
): Promise<T> {
  const filter = await readFilter(options, stage);
  await using scan = stage.openLetters();
  return await use({ scan, filter, stop });
}

async function readFilter(
  { run, config, errorClass }: LetterOptions,
  { ledger }: LetterStage,
): Promise<LetterFilter> {
  if (run === undefined) return { config, errorClass };
  const { group, runs } = await findRuns(ledger, run);
  if (config !== undefined) chooseConfigs(group.header.spec.configs, [config], '--config: ');
  return { runs: new Set(runs), config, errorClass };
}

function endReport(report: LetterReport, { terminal, stage, options }: LetterCommand): ExitCode {
  if (options.json === true) {
    terminal.print(JSON.stringify(reportToJson(report, stage.name), null, 2));
  } else terminal.print(describeReport(report, stage.name));
  for (const { problem, letters } of report.problems) {
    terminal.error(`${letters === 1 ? '1 letter stays' : `${letters} letters stay`}: ${problem}`);
  }
  return endOf(report, terminal);
}

function endOf(
  { unseen, isInterrupted }: Pick<LetterList, 'unseen' | 'isInterrupted'>,
  terminal: Terminal,
): ExitCode {
  if (isInterrupted) {
    terminal.error('interrupted: there may be more letters; the same command goes on with them');
    return exitCodes.interrupted;
  }
  if (unseen > 0) terminal.error(describeUnseen(unseen));
  return exitCodes.complete;
}
