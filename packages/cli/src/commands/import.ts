import { basename, resolve } from 'node:path';
import {
  describeError,
  type FileContent,
  finalizeGroup,
  findFormat,
  importGroup,
  type LoadedGroup,
  type ResultFormat,
  type Summary,
} from '@thrice/core';
import { createNodeDigest, fileSourceReader, type LocalEngine, systemClock } from '@thrice/local';
import { classifyErrorText } from '@thrice/models';
import { openEngine, openPatterns } from '../local/compose-local.ts';
import { describeImport, listUnscored } from '../render/import-report.ts';
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
  using engine = openEngine(options.dir, terminal);
  const imports: object[] = [];
  for (const file of files) {
    const { group, isNew } = await importOne(file, engine, terminal);
    const summary = await publish(group, engine);
    const unscored = listUnscored(file.content);
    const { notices } = file.content.file;
    if (options.json === true) {
      imports.push({
        file: file.path,
        group: group.header.group,
        isNew,
        notices,
        unscored,
        summary,
      });
      continue;
    }
    terminal.print(group.header.group);
    const place = `${showPath(engine.folder, terminal)}/runs/${group.header.group}`;
    const name = basename(file.path);
    const lines = describeImport(file.content, { name, isNew, unscored, summary, place });
    for (const line of lines) terminal.error(line);
    printSummary(summary, terminal, { isNamed: true });
    terminal.error(`results: ${place}`);
  }
  if (options.json === true) terminal.print(JSON.stringify({ imports }, null, 2));
  return exitCodes.complete;
}

async function readFile(path: string, format: ResultFormat, terminal: Terminal): Promise<ReadFile> {
  const whole = resolve(terminal.workingFolder, path);
  const text = await fileSourceReader.readText(whole);
  const content = format.read({ path, text }, (said, at) => {
    const atMs = at === undefined ? systemClock.now() : Date.parse(at);
    return { ...describeError(classifyErrorText(said, atMs)), message: said };
  });
  return { path: whole, sha256: fileSourceReader.digestText(text), content };
}

async function importOne(
  { path, sha256, content }: ReadFile,
  { ledger, blobs, pool, clock }: LocalEngine,
  terminal: Terminal,
): Promise<{ readonly group: LoadedGroup; readonly isNew: boolean }> {
  const commandLine = commandLineWithoutSecrets(terminal, {
    benchmark: { lanes: new Map() },
    spec: {},
  });
  const importedAt = clock.toIso(clock.now());
  const order = { content, source: { path, sha256 }, importedAt, commandLine, toolVersion };
  const stores = { ledger, blobs, pool, createDigest: createNodeDigest };
  const { group, counts } = await importGroup(order, stores);
  return { group, isNew: counts.copied > 0 };
}

async function publish(
  group: LoadedGroup,
  { ledger, blobs, clock }: LocalEngine,
): Promise<Summary> {
  using patterns = openPatterns();
  const stores = { ledger, blobs, clock, patterns };
  return await finalizeGroup(group, stores, { earlyExitCode: undefined });
}
