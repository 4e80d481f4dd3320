import { verifyGroup as checkGroup, type Verification } from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { EngineOptions } from '../engine/engine.ts';
import { findGroup } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import { openPatterns } from '../local/compose-local.ts';
import { openPublishedGroups } from '../local/published-groups.ts';
import { countOf } from '../render/count-of.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';

/** `thrice verify`: recomputes every published number; a mismatch is a failed check. */
export async function verifyGroup(
  terminal: Terminal,
  name: string,
  options: EngineOptions & { readonly json?: boolean },
): Promise<ExitCode> {
  const verification = await verify(terminal, name, options);
  if (options.json === true) terminal.print(JSON.stringify(verification, null, 2));
  else print(verification, terminal);
  const { mismatches, notRescored } = verification;
  const isVerified = mismatches.length === 0 && notRescored.length === 0;
  return isVerified ? exitCodes.complete : exitCodes.paused;
}

async function verify(
  terminal: Terminal,
  name: string,
  options: EngineOptions,
): Promise<Verification> {
  const createDigest = createNodeDigest;
  using published =
    options.stage === undefined ? openPublishedGroups(options.dir, terminal) : undefined;
  if (published !== undefined) {
    using patterns = openPatterns();
    const { header, benchmark } = await published.findGroup(name);
    const { blobs } = published;
    return await checkGroup(header, benchmark, { blobs, patterns, createDigest });
  }
  using engine = await openEngine(options, terminal);
  const { ledger, blobs, patterns } = engine;
  const { header, benchmark } = await findGroup(ledger, name, engine.flag);
  return await checkGroup(header, benchmark, { ledger, blobs, patterns, createDigest });
}

function print(verification: Verification, terminal: Terminal): void {
  const { gradings, rows, rescored, figures, mismatches } = verification;
  for (const line of [...mismatches, ...verification.notRescored]) terminal.print(plainText(line));
  const counts = [
    ...(gradings === 1 ? [] : [countOf(gradings, 'grading')]),
    countOf(rows, 'row'),
    `${countOf(rescored, 'answer')} rescored`,
    `${countOf(figures, 'figure')} recomputed`,
  ];
  terminal.print(`${counts.join(', ')}: ${describeConclusion(verification)}`);
  if (!verification.isJournalCompared) {
    terminal.print('the journal was not at hand: checked the published files alone');
  }
}

function describeConclusion({ mismatches, notRescored }: Verification): string {
  const found = countOf(mismatches.length, 'mismatch', 'mismatches');
  if (notRescored.length > 0) return `${found}, but not all grades were made again`;
  return mismatches.length === 0 ? 'all numbers match' : found;
}
