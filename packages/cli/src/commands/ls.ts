import { openExistingEngine } from '../compose-local.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { describeStatus } from '../group-status.ts';
import { renderTable } from '../render/table.ts';
import type { Terminal } from '../terminal.ts';

/** `thrice ls`: all groups of a folder, newest first. */
export async function listGroups(
  terminal: Terminal,
  options: { readonly dir: string; readonly json?: boolean },
): Promise<ExitCode> {
  using engine = openExistingEngine(options.dir, terminal);
  const groups = await engine.ledger.listGroups();
  const statuses = await Promise.all(groups.map((group) => describeStatus(group, engine)));
  if (options.json === true) {
    terminal.print(JSON.stringify(statuses, null, 2));
    return exitCodes.complete;
  }
  const rows = statuses.map(({ group, state, cells, done, createdAt }) => [
    group,
    state,
    `${done}/${cells}`,
    createdAt,
  ]);
  terminal.print(renderTable(['group', 'state', 'cells', 'created'], rows, 'text').trimEnd());
  return exitCodes.complete;
}
