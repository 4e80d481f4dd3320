import { renderTable } from '@thrice/core';
import { describeStatus } from '../engine/describe-status.ts';
import type { EngineOptions } from '../engine/engine.ts';
import { openEngine } from '../engine/open-engine.ts';
import { describeSpentOf } from '../render/budget-text.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';

/** `thrice ls`: lists all groups, newest first. */
export async function listGroups(
  terminal: Terminal,
  options: EngineOptions & { readonly json?: boolean },
): Promise<ExitCode> {
  using engine = await openEngine(options, terminal);
  const groups = await engine.ledger.listGroups();
  const statuses = await Promise.all(groups.map((group) => describeStatus(group, engine)));
  if (options.json === true) {
    terminal.print(JSON.stringify(statuses, null, 2));
    return exitCodes.complete;
  }
  const haveBudgets = statuses.some(({ budget }) => budget !== null);
  const rows = statuses.map(({ group, state, cells, done, budget, createdAt }) => [
    group,
    state,
    `${done}/${cells}`,
    ...(haveBudgets ? [budget === null ? '' : describeSpentOf(budget)] : []),
    createdAt,
  ]);
  const header = ['group', 'state', 'cells', ...(haveBudgets ? ['budget'] : []), 'created'];
  terminal.print(renderTable(header, rows, 'text', terminal.printColumns).trimEnd());
  return exitCodes.complete;
}
