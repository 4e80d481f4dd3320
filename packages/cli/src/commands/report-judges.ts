import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  compareWithGold,
  type GoldRow,
  goldRowSchema,
  readJudgedGroup,
  reportJudges,
  ThriceError,
  withCurrentGrading,
} from '@thrice/core';
import type { EngineOptions } from '../engine/engine.ts';
import { findGroup } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import { describeJudges } from '../render/judge-view.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';

/** Options of `thrice judge --report`. */
export interface JudgeReportOptions extends EngineOptions {
  /** A file of answers that people have judged. */
  readonly gold?: string;
  readonly json?: boolean;
}

/** `thrice judge --report`: prints how far the judges of a group agree. Nobody is asked. */
export async function printJudgeReport(
  terminal: Terminal,
  name: string,
  options: JudgeReportOptions,
): Promise<ExitCode> {
  using engine = await openEngine(options, terminal);
  const { header, benchmark } = await findGroup(engine.ledger, name, engine.flag);
  const gold =
    options.gold === undefined ? undefined : await readGold(options.gold, terminal.workingFolder);
  const current = await withCurrentGrading(header, benchmark, engine.blobs);
  const items = await readJudgedGroup(header, current, engine);
  if (items.length === 0) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `${header.group}: expected answers that a judge has graded, found none under its current grading`,
    });
  }
  const report = reportJudges(items);
  const compared = gold && compareWithGold(items, gold);
  if (options.json === true)
    terminal.print(
      JSON.stringify({ group: header.group, judges: report, gold: compared }, null, 2),
    );
  else terminal.print(describeJudges(report, compared));
  return exitCodes.complete;
}

async function readGold(file: string, folder: string): Promise<readonly GoldRow[]> {
  const path = resolve(folder, file);
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new ThriceError({ code: 'invalid-file', message: `${file}: cannot be read`, cause });
  });
  return text
    .split('\n')
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => parseGoldRow(line, `${file}:${number}`));
}

function parseGoldRow(line: string, where: string): GoldRow {
  try {
    return goldRowSchema.parse(JSON.parse(line));
  } catch (cause) {
    throw new ThriceError({
      code: 'invalid-file',
      message: `${where}: expected a line as {"id": "q1", "config": "a", "correct": true}, with "run" if there are several`,
      cause,
    });
  }
}
