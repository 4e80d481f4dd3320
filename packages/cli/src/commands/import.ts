import { basename, resolve } from 'node:path';
import {
  countOf,
  describeError,
  finalizeGroup,
  openQuestions,
  type Question,
  readRun,
  type Summary,
  ThriceError,
} from '@thrice/core';
import { type FileContent, findFormat, importGroup, type ResultFormat } from '@thrice/formats';
import { createNodeDigest, fileSourceReader, type LocalEngine, systemClock } from '@thrice/local';
import { classifyErrorText } from '@thrice/models';
import { openEngine, openQuestionFiles, openUserCode } from '../local/compose-local.ts';
import { describeImport, listUnscored, type UnscoredCell } from '../render/import-report.ts';
import { printSummary } from '../render/print-summary.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { showPath } from '../shell/show-path.ts';
import type { Terminal } from '../shell/terminal.ts';
import { toolVersion } from '../shell/tool-version.ts';
import { commandLineWithoutSecrets } from '../spec/secrets.ts';

/** Options of `thrice import`. */
export interface ImportOptions {
  readonly dir: string;
  readonly json?: boolean;
  /** A copy of the dataset that the rows are of. */
  readonly dataset?: string;
}

/** A file, read but not imported yet. */
interface ReadFile {
  readonly path: string;
  readonly sha256: string;
  readonly content: FileContent;
}

/** `thrice import`: makes a group of each result file of another tool. All files are read before the first is imported. */
export async function importFiles(
  terminal: Terminal,
  formatName: string,
  paths: readonly string[],
  options: ImportOptions,
): Promise<ExitCode> {
  const format = findFormat(formatName);
  const files: ReadFile[] = [];
  for (const path of paths) files.push(await readFile(path, format, terminal));
  if (options.dataset !== undefined)
    await checkTargets(files, options.dataset, { format, terminal });
  using engine = openEngine(options.dir, terminal);
  const imports: Import[] = [];
  for (const file of files) {
    const imported = await importFile(file, { format, engine, terminal });
    imports.push(imported);
    if (options.json !== true) print(file, imported, { engine, terminal });
  }
  if (options.json === true) terminal.print(JSON.stringify({ imports }, null, 2));
  return exitCodes.complete;
}

/** What has become of a file. */
interface Import {
  readonly file: string;
  readonly group: string;
  /** False if all its rows were imported before. */
  readonly isNew: boolean;
  /** Whether an export of the group is the same file again. */
  readonly exportsSame: boolean;
  readonly notices: readonly string[];
  readonly unscored: readonly UnscoredCell[];
  readonly summary: Summary;
}

async function readFile(path: string, format: ResultFormat, terminal: Terminal): Promise<ReadFile> {
  const whole = resolve(terminal.workingFolder, path);
  const text = await fileSourceReader.readText(whole);
  const content = format.read({ path, text }, (said, at) => {
    const atMs = at === undefined ? systemClock.now() : Date.parse(at);
    const { code } = classifyErrorText(said, atMs);
    return describeError(new ThriceError({ code, message: said }));
  });
  return { path: whole, sha256: fileSourceReader.digestText(text), content };
}

/** Compares the targets of files with those of a copy of their dataset, before the first is imported. */
async function checkTargets(
  files: readonly ReadFile[],
  folder: string,
  { format, terminal }: { readonly format: ResultFormat; readonly terminal: Terminal },
): Promise<void> {
  const { name, checkTargets: check } = format.dataset;
  const resolvePath = (path: string) => resolve(terminal.workingFolder, path);
  const place = { dataset: name, path: folder };
  const source = openQuestions(place, resolvePath, openQuestionFiles(terminal));
  const questions: Question[] = [];
  for await (const question of source.read()) questions.push(question);
  for (const { path, content } of files) {
    const count = check(showPath(path, terminal), content, questions);
    terminal.error(`${basename(path)}: ${countOf(count, 'target')} compared, as in ${folder}`);
  }
}

async function importFile(
  { path, sha256, content }: ReadFile,
  {
    format,
    engine,
    terminal,
  }: {
    readonly format: ResultFormat;
    readonly engine: LocalEngine;
    readonly terminal: Terminal;
  },
): Promise<Import> {
  const { ledger, blobs, responseCache, clock } = engine;
  const names = { benchmark: { lanes: new Map() }, spec: {} };
  const { group, counts } = await importGroup(
    {
      content,
      source: { path, sha256 },
      importedAt: clock.toIso(clock.now()),
      commandLine: commandLineWithoutSecrets(terminal, names),
      toolVersion,
    },
    { ledger, blobs, responseCache, createDigest: createNodeDigest },
  );
  using userCode = openUserCode(terminal);
  const stores = { ledger, blobs, clock, userCode };
  const summary = await finalizeGroup(group, stores, { earlyEnd: undefined });
  const digest = createNodeDigest();
  for (const line of format.write(await readRun(group, group.header.runs[0] ?? '', stores)))
    digest.update(line);
  return {
    file: path,
    group: group.header.group,
    isNew: counts.copied > 0,
    exportsSame: digest.hex() === sha256,
    notices: content.file.notices,
    unscored: listUnscored(content),
    summary,
  };
}

function print(
  { content }: ReadFile,
  { file, group, isNew, exportsSame, unscored, summary }: Import,
  { engine, terminal }: { readonly engine: LocalEngine; readonly terminal: Terminal },
): void {
  terminal.print(group);
  const place = `${showPath(engine.folder, terminal)}/runs/${group}`;
  const facts = { name: basename(file), isNew, exportsSame, unscored, summary, place };
  for (const line of describeImport(content, facts)) terminal.error(line);
  printSummary(summary, terminal, { isNamed: true });
  terminal.error(`results: ${place}`);
}
