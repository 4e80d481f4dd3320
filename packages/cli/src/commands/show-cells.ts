import type { CellRow, Config, GroupHeader, RowStores } from '@thrice/core';
import { countOf, isPlanned, readRows, withCurrentGrading } from '@thrice/core';
import type { EngineOptions } from '../engine/engine.ts';
import { findRuns } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import { renderUnparsed, unparsedToJson } from '../render/cells-view.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';
import { chooseConfigs } from '../spec/apply-overrides.ts';

/** Options of `thrice show`, with and without `--unparsed`. */
export interface ShowOptions extends EngineOptions {
  readonly unparsed?: boolean;
  readonly json?: boolean;
}

/** `thrice show --unparsed`: prints the answers of a run or group that its scorers could not read. */
export async function showUnparsed(
  terminal: Terminal,
  name: string,
  configName: string | undefined,
  options: ShowOptions,
): Promise<ExitCode> {
  using engine = await openEngine(options, terminal);
  const { group, runs } = await findRuns(engine.ledger, name, engine.flag);
  const { configs } = await withCurrentGrading(group.header, group.benchmark, engine.blobs);
  const chosen = configName === undefined ? configs : chooseConfigs(configs, [configName], '');
  const unparsed: CellRow[] = [];
  let unparsedCount = 0;
  let cellCount = 0;
  for await (const row of readAllRows({ header: group.header, runs, configs: chosen }, engine)) {
    cellCount += 1;
    if (row.outcome !== 'unparsed') continue;
    unparsedCount += 1;
    if (options.json === true) unparsed.push(row);
    else terminal.print(`${renderUnparsed(row)}\n`);
  }
  if (options.json === true) {
    const document = {
      group: group.header.group,
      cells: cellCount,
      unparsed: unparsed.map(unparsedToJson),
    };
    terminal.print(JSON.stringify(document, null, 2));
  } else {
    terminal.print(`${unparsedCount} of ${countOf(cellCount, 'cell')} unparsed, each with score 0`);
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
