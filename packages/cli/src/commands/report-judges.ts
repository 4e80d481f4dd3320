import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  compareWithGold,
  countOf,
  type GoldReport,
  type GoldRow,
  type GroupHeader,
  goldRowSchema,
  type JudgedItem,
  type Rejection,
  readJudgedGroup,
  reportJudges,
  ThriceError,
  withCurrentGrading,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { EngineOptions } from '../engine/engine.ts';
import { findGroup } from '../engine/find-group.ts';
import { openEngine } from '../engine/open-engine.ts';
import { describeJudges } from '../render/judge-view.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import type { Terminal } from '../shell/terminal.ts';
import { type Regraded, regradeGroup, reportRegraded } from './rescore.ts';

/** Options of `thrice judge --report`. */
export interface JudgeReportOptions extends EngineOptions {
  /** A file of answers that people have judged. */
  readonly gold?: string;
  /** The least accuracy at which judges are believed, 0..1. */
  readonly floor?: number;
  readonly json?: boolean;
}

/** `thrice judge --report`: prints how far the judges of a group agree. Nobody is asked. */
export async function printJudgeReport(
  terminal: Terminal,
  name: string,
  options: JudgeReportOptions,
): Promise<ExitCode> {
  const gold =
    options.gold === undefined ? undefined : await readGold(options.gold, terminal.workingFolder);
  const { items, header } = await readItems(terminal, name, options);
  const judges = reportJudges(items);
  const compared = gold && compareWithGold(items, gold.rows);
  if (options.json !== true) terminal.print(describeJudges(judges, compared));
  const regraded =
    options.floor === undefined || gold === undefined || compared === undefined
      ? undefined
      : await applyFloor(terminal, header, options, {
          floor: options.floor,
          goldSha256: gold.sha256,
          panel: compared.panel,
        });
  if (options.json === true) {
    const report = { group: header.group, judges, gold: compared, ...regraded?.regrading };
    terminal.print(JSON.stringify(report, null, 2));
  }
  return regraded === undefined ? exitCodes.complete : reportRegraded(regraded, terminal);
}

async function readItems(
  terminal: Terminal,
  name: string,
  options: EngineOptions,
): Promise<{ readonly header: GroupHeader; readonly items: readonly JudgedItem[] }> {
  using engine = await openEngine(options, terminal);
  const { header, benchmark } = await findGroup(engine.ledger, name, engine.flag);
  const current = await withCurrentGrading(header, benchmark, engine.blobs);
  const items = await readJudgedGroup(header, current, engine);
  if (items.length === 0) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `${header.group}: expected answers that a judge has graded, found none under its current grading`,
    });
  }
  return { header, items };
}

/** Has the judges of a group grade nothing while they agree too little with people, and again once they agree enough. */
async function applyFloor(
  terminal: Terminal,
  { group, specSource }: GroupHeader,
  options: EngineOptions,
  {
    floor,
    goldSha256,
    panel: { accuracy, answerCount },
  }: Pick<GoldReport, 'panel'> & Pick<Rejection, 'floor' | 'goldSha256'>,
): Promise<Regraded> {
  if (accuracy === null) {
    throw new ThriceError({
      code: 'invalid-argument',
      message: `--floor: expected an answer that both people and judges have judged, found none in ${group}; name other answers in the gold file`,
    });
  }
  const isBelow = accuracy.value < floor;
  const agreement = `judges agree with people on ${accuracy.value.toFixed(3)} of ${countOf(answerCount, 'answer')}`;
  terminal.error(
    isBelow
      ? `${agreement}, less than ${floor}: no answer that they judge has a grade`
      : `${agreement}, at least ${floor}: their grades count`,
  );
  const rejected = isBelow
    ? { accuracy: accuracy.value, floor, answers: answerCount, goldSha256 }
    : null;
  const { sha256: specSha256 } = specSource;
  const scorers = { specSha256, scorers: new Map<string, never>(), rejected };
  return await regradeGroup(terminal, group, options, async () => ({ scorers }));
}

/** A gold file. */
interface Gold {
  readonly rows: readonly GoldRow[];
  readonly sha256: string;
}

async function readGold(file: string, folder: string): Promise<Gold> {
  const path = resolve(folder, file);
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new ThriceError({ code: 'invalid-file', message: `${file}: cannot be read`, cause });
  });
  const digest = createNodeDigest();
  digest.update(text);
  const rows = text
    .split('\n')
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== '')
    .map(({ line, number }) => parseGoldRow(line, `${file}:${number}`));
  return { rows, sha256: digest.hex() };
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
