import {
  type LoadedGroup,
  readRun,
  renderSummary,
  renderTable,
  renderTagTable,
  type Summary,
  suggestName,
  type TableForm,
  ThriceError,
} from '@thrice/core';
import { findFormat, type ResultFormat } from '@thrice/formats';
import { countSummary } from '../engine/count-summary.ts';
import type { Engine, EngineOptions } from '../engine/engine.ts';
import { findGroup, newestGroup, onlyRun } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';

/** Options of `thrice summarize`. */
export interface SummarizeOptions extends EngineOptions {
  readonly latest?: boolean;
  readonly md?: boolean;
  readonly csv?: boolean;
  readonly by?: string;
  readonly view?: string;
  readonly json?: boolean;
}

/** `thrice summarize`: prints the summary of a group, computed from its records. */
export async function summarizeGroup(
  terminal: Terminal,
  name: string | undefined,
  options: SummarizeOptions,
): Promise<ExitCode> {
  if (name !== undefined && options.latest === true) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `summarize: expected a group or --latest, received both: "${name}" and --latest; leave one of them out`,
    });
  }
  if (options.by !== undefined && options.view !== undefined) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: 'summarize: expected --by or --view, received both; leave one of them out',
    });
  }
  const format = options.view === undefined ? undefined : findFormat(options.view);
  using engine = await openEngine(options, terminal);
  const group =
    name === undefined
      ? await newestGroup(engine.ledger)
      : await findGroup(engine.ledger, name, engine.flag);
  if (format !== undefined) return await printView(group, format, { engine, terminal, options });
  const summary = await countSummary(group, engine);
  if (options.by !== undefined) checkTag(options.by, summary);
  if (options.json === true) {
    terminal.print(JSON.stringify(summary, null, 2));
    return exitCodes.complete;
  }
  const form = formOf(options);
  const width = terminal.printColumns;
  const tables = [
    // A CSV document is one table.
    ...(form === 'csv' && options.by !== undefined
      ? []
      : [renderSummary(summary, form, { width })]),
    ...(options.by === undefined ? [] : [renderTagTable(summary, options.by, form, width)]),
  ];
  terminal.print(plainText(tables.map((table) => table.trimEnd()).join('\n\n')));
  return exitCodes.complete;
}

function formOf({ csv, md }: SummarizeOptions): TableForm {
  return csv === true ? 'csv' : md === true ? 'md' : 'text';
}

/** Prints what another tool says of a group with one run. */
async function printView(
  group: LoadedGroup,
  format: ResultFormat,
  {
    engine,
    terminal,
    options,
  }: {
    readonly engine: Engine;
    readonly terminal: Terminal;
    readonly options: SummarizeOptions;
  },
): Promise<ExitCode> {
  const { group: name, runs } = group.header;
  const view = format.view(await readRun(group, onlyRun(runs, name), engine));
  if (options.json === true) {
    terminal.print(
      JSON.stringify({ group: name, view: format.name, configs: view.figures }, null, 2),
    );
    return exitCodes.complete;
  }
  const form = formOf(options);
  const table = renderTable(view.header, view.rows, form, terminal.printColumns).trimEnd();
  const legend = form === 'csv' ? '' : `\n\n${view.legend.join('\n')}`;
  terminal.print(plainText(`${table}${legend}`));
  return exitCodes.complete;
}

function checkTag(tag: string, { configs }: Summary): void {
  const known = [...new Set(configs.flatMap(({ byTag }) => Object.keys(byTag)))];
  if (known.includes(tag)) return;
  const expected =
    known.length === 0 ? 'the questions have no tags' : `expected ${known.join(', ')}`;
  throw new ThriceError({
    code: 'invalid-argument',
    message: `--by: unknown tag "${tag}"${suggestName(tag, known)} (${expected})`,
  });
}
