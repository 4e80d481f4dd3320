import type { CellRow, Config, GroupHeader, RowStores } from '@thrice/core';
import { isPlanned, readRows, withCurrentGrading } from '@thrice/core';
import type { EngineOptions } from '../engine/engine.ts';
import { findRuns } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import {
  countListed,
  isListed,
  type ListedCells,
  listedToJson,
  renderCell,
} from '../render/cells-view.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';
import { chooseConfigs } from '../spec/apply-overrides.ts';

/** Options of `thrice show`. */
export interface ShowOptions extends EngineOptions {
  readonly unparsed?: boolean;
  readonly wrong?: boolean;
  readonly json?: boolean;
}

/** What `thrice show` lists of a run or group. */
export interface CellList {
  readonly name: string;
  /** @default every config */
  readonly config: string | undefined;
  readonly listed: ListedCells;
}

/** `thrice show` without a question: prints the cells of a run or group, or only those that are unparsed or wrong. */
export async function showCells(
  terminal: Terminal,
  { name, config, listed }: CellList,
  options: ShowOptions,
): Promise<ExitCode> {
  using engine = await openEngine(options, terminal);
  const { group, runs } = await findRuns(engine.ledger, name, engine.flag);
  const { configs } = await withCurrentGrading(group.header, group.benchmark, engine.blobs);
  const chosen = config === undefined ? configs : chooseConfigs(configs, [config], '');
  const rows: CellRow[] = [];
  let count = 0;
  let cellCount = 0;
  for await (const row of readAllRows({ header: group.header, runs, configs: chosen }, engine)) {
    cellCount += 1;
    if (!isListed(row, listed)) continue;
    count += 1;
    if (options.json === true) rows.push(row);
    else terminal.print(renderCell(row, listed));
  }
  if (options.json === true) {
    const document = {
      group: group.header.group,
      cells: cellCount,
      [listed]: rows.map(listedToJson),
    };
    terminal.print(JSON.stringify(document, null, 2));
  } else {
    terminal.print(countListed(listed, count, cellCount));
  }
  return exitCodes.complete;
}

async function* readAllRows(
  {
    header,
    runs,
    configs,
  }: {
    readonly header: GroupHeader;
    readonly runs: readonly string[];
    readonly configs: readonly Config[];
  },
  stores: RowStores,
): AsyncIterable<CellRow> {
  for (const run of runs) {
    for (const config of configs) {
      if (isPlanned(header, config.name)) yield* readRows(header, run, config, stores);
    }
  }
}
