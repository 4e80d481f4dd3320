import { verifyGroup as checkGroup } from '@thrice/core';
import type { EngineOptions } from '../engine/engine.ts';
import { findGroup } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import { openPatterns } from '../local/compose-local.ts';
import { countOf } from '../render/count-of.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';

/** `thrice verify`: recomputes every published number; a mismatch is a failed check. */
export async function verifyGroup(
  terminal: Terminal,
  name: string,
  options: EngineOptions & { readonly json?: boolean },
): Promise<ExitCode> {
  using engine = await openEngine(options, terminal);
  const { header, benchmark } = await findGroup(engine.ledger, name, engine.flag);
  using patterns = openPatterns();
  const { ledger, blobs } = engine;
  const verification = await checkGroup(header, benchmark, { ledger, blobs, patterns });
  const { rows, rescored, figures, mismatches } = verification;
  if (options.json === true) terminal.print(JSON.stringify(verification, null, 2));
  else {
    for (const mismatch of mismatches) terminal.print(plainText(mismatch));
    const conclusion =
      mismatches.length === 0
        ? 'all numbers match'
        : countOf(mismatches.length, 'mismatch', 'mismatches');
    terminal.print(
      `${countOf(rows, 'row')}, ${countOf(rescored, 'answer')} rescored, ${countOf(figures, 'figure')} recomputed: ${conclusion}`,
    );
  }
  return mismatches.length === 0 ? exitCodes.complete : exitCodes.paused;
}
