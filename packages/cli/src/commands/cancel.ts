import { openExistingEngine } from '../compose-local.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findGroup } from '../find-group.ts';
import type { Terminal } from '../terminal.ts';

/** `thrice cancel`: asks every process that works on a group to finish its calls and end. */
export async function cancelGroup(
  terminal: Terminal,
  name: string,
  options: { readonly dir: string },
): Promise<ExitCode> {
  using engine = openExistingEngine(options.dir, terminal);
  const { header } = await findGroup(engine.ledger, name);
  await engine.ledger.setGroupState(header.group, 'cancelled');
  terminal.print(`cancelled ${header.group}; "thrice resume ${header.group}" goes on`);
  return exitCodes.complete;
}
