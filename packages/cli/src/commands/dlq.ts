import { type ErrorClass, errorCodesByClass, suggestName, ThriceError } from '@thrice/core';
import { type DlqCommand, dropDlq, listDlq, replayDlq, showDlq } from '../dlq/dlq-messages.ts';
import type { ExitCode } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import type { Terminal } from '../shell/terminal.ts';
import { openStage } from '../stage/compose-cloud.ts';

/** Options of each `thrice dlq` command. */
export interface DlqOptions {
  readonly stage?: string;
  readonly run?: string;
  readonly config?: string;
  readonly class?: string;
  readonly json?: boolean;
}

/** `thrice dlq ls`. */
export function dlqLs(terminal: Terminal, options: DlqOptions): Promise<ExitCode> {
  return onStage(terminal, options, listDlq);
}

/** `thrice dlq show`. */
export function dlqShow(terminal: Terminal, options: DlqOptions): Promise<ExitCode> {
  return onStage(terminal, options, showDlq);
}

/** `thrice dlq replay`. */
export function dlqReplay(terminal: Terminal, options: DlqOptions): Promise<ExitCode> {
  return onStage(terminal, options, replayDlq);
}

/** `thrice dlq drop`. */
export function dlqDrop(terminal: Terminal, options: DlqOptions): Promise<ExitCode> {
  return onStage(terminal, options, dropDlq);
}

async function onStage(
  terminal: Terminal,
  options: DlqOptions,
  act: (command: DlqCommand) => Promise<ExitCode>,
): Promise<ExitCode> {
  const name = checkStage(options.stage);
  const errorClass = checkClass(options.class);
  using engine = await openStage(name);
  using signals = listenForStop();
  signals.drain.addEventListener('abort', () => {
    terminal.error('stopping after the messages in flight');
  });
  const { ledger, queue, activeGroups, openDlqScan } = engine;
  const lanes = new Set(Object.keys(engine.stage.laneQueueUrls));
  const stage = { name, ledger, queue, activeGroups, lanes, openDlqScan };
  return await act({ terminal, stage, options: { ...options, errorClass }, stop: signals.drain });
}

function checkStage(name: string | undefined): string {
  if (name !== undefined) return name;
  throw new ThriceError({
    code: 'invalid-argument',
    message:
      '--stage: expected the name of a deployed stage, received none: only a stage has a DLQ. On this machine, "thrice status" counts failed cells and says how to retry them, and runs/GROUP/RUN/failures_CONFIG.json lists them',
  });
}

function checkClass(name: string | undefined): ErrorClass | undefined {
  if (name === undefined) return undefined;
  const classes = Object.keys(errorCodesByClass) as ErrorClass[];
  const found = classes.find((errorClass) => errorClass === name);
  if (found !== undefined) return found;
  throw new ThriceError({
    code: 'invalid-argument',
    message: `--class: unknown class "${name}"${suggestName(name, classes)} (expected ${classes.join(', ')})`,
  });
}
