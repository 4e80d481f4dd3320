import {
  compareConfigs,
  type FalseAlarms,
  measureFalseAlarms,
  type TableForm,
  ThriceError,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { EngineOptions } from '../engine/engine.ts';
import { findCompared, findConfigs } from '../engine/find-compared.ts';
import { renderComparison, renderFalseAlarms } from '../render/comparison-view.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';

/** Options of `thrice compare`. */
export interface CompareOptions extends EngineOptions {
  /** The figure that is compared. @default `score` */
  readonly on?: string;
  /** A tag of the questions. */
  readonly by?: string;
  /** The most that A may be worse and still be no worse. */
  readonly margin?: number;
  /** Compares questions whose texts differ, or are unknown in one, too. */
  readonly allow?: boolean;
  /** A name under which the comparison is kept beside the results of the first group. */
  readonly save?: string;
  /** Compares each config with itself instead, to see how often that tells a difference. */
  readonly aa?: boolean;
  readonly md?: boolean;
  readonly csv?: boolean;
  readonly json?: boolean;
}

/** `thrice compare`: compares configs, or groups config by config, question by question. */
export async function compare(
  terminal: Terminal,
  name: string,
  others: readonly string[],
  options: CompareOptions,
): Promise<ExitCode> {
  if (options.aa === true) return await compareWithItself(terminal, name, others, options);
  using compared = await findCompared([name, ...others], options, terminal);
  const { on: figure, by: tag, margin, allow: allowsOtherTexts } = options;
  const request = { figure, tag, margin, allowsOtherTexts };
  const comparison = await compareConfigs(compared.pairs, request, createNodeDigest);
  if (options.save !== undefined) {
    const saved = await compared.save(options.save, comparison);
    terminal.error(`saved: ${saved}`);
  }
  if (options.json === true) terminal.print(JSON.stringify(comparison, null, 2));
  else {
    const { printColumns: width, commandName } = terminal;
    const view = { form: formOf(options), width, flag: compared.flag, commandName };
    terminal.print(plainText(renderComparison(comparison, view).trimEnd()));
  }
  return exitCodes.complete;
}

/** How often a comparison tells a difference where there is none. */
async function compareWithItself(
  terminal: Terminal,
  name: string,
  configs: readonly string[],
  options: CompareOptions,
): Promise<ExitCode> {
  refuseWithItself(options);
  using found = await findConfigs(name, configs, options, terminal);
  const alarms: FalseAlarms[] = [];
  for (const config of found.configs) alarms.push(await measureFalseAlarms(config, options.on));
  if (options.json === true) terminal.print(JSON.stringify(alarms, null, 2));
  else {
    const text = renderFalseAlarms(alarms, formOf(options), terminal.printColumns);
    terminal.print(plainText(text.trimEnd()));
  }
  return exitCodes.complete;
}

/** @throws {ThriceError} `invalid-argument` for an option that says how two configs are compared. */
function refuseWithItself({ by, margin, allow, save }: CompareOptions): void {
  const [given] =
    Object.entries({ by, margin, allow, save }).find(([, each]) => each !== undefined) ?? [];
  if (given === undefined) return;
  throw new ThriceError({
    code: 'invalid-argument',
    message: `compare: expected --aa or --${given}, received both; leave one of them out`,
  });
}

function formOf({ csv, md }: CompareOptions): TableForm {
  return csv === true ? 'csv' : md === true ? 'md' : 'text';
}
