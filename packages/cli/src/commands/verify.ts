import { verifyGroup as checkGroup, resolveBenchmark } from '@thrice/core';
import { openExistingEngine } from '../compose-local.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findGroup } from '../find-group.ts';
import { renderSummary } from '../render/summary-table.ts';
import { plainText, type Terminal } from '../terminal.ts';

/** `thrice verify`: recomputes every published number; a mismatch is a failed check. */
export async function verifyGroup(
  terminal: Terminal,
  name: string,
  options: { readonly dir: string; readonly json?: boolean },
): Promise<ExitCode> {
  using engine = openExistingEngine(options.dir, terminal);
  const { header } = await findGroup(engine.ledger, name);
  const benchmark = resolveBenchmark(header.spec, header.specSource.path);
  const { ledger, blobs } = engine;
  const verification = await checkGroup(header, benchmark, {
    ledger,
    blobs,
    renderSummary: (summary) => renderSummary(summary, 'md'),
  });
  const { rows, rescored, figures, mismatches } = verification;
  if (options.json === true) terminal.print(JSON.stringify(verification, null, 2));
  else {
    for (const mismatch of mismatches) terminal.print(plainText(mismatch));
    const verdict =
      mismatches.length === 0 ? 'every number holds' : `${mismatches.length} mismatches`;
    terminal.print(
      `${rows} rows, ${rescored} answers scored again, ${figures} figures recomputed: ${verdict}`,
    );
  }
  return mismatches.length === 0 ? exitCodes.complete : exitCodes.paused;
}
