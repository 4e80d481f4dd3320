import { compareConfigs } from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { EngineOptions } from '../engine/engine.ts';
import { findCompared } from '../engine/find-compared.ts';
import { renderComparison } from '../render/comparison-view.ts';
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
  /** Compares questions that are asked in other words too. */
  readonly allow?: boolean;
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
  using compared = await findCompared([name, ...others], options, terminal);
  const { on: figure, by: tag, margin, allow: allowsOtherTexts } = options;
  const request = { figure, tag, margin, allowsOtherTexts };
  const comparison = await compareConfigs(compared.pairs, request, createNodeDigest);
  if (options.json === true) terminal.print(JSON.stringify(comparison, null, 2));
  else {
    const form = options.csv === true ? 'csv' : options.md === true ? 'md' : 'text';
    const view = { form, width: terminal.printColumns, flag: compared.flag } as const;
    terminal.print(plainText(renderComparison(comparison, view).trimEnd()));
  }
  return exitCodes.complete;
}
