import {
  BUILTIN_PRICES_VERSION,
  type CellRecord,
  type CopyCounts,
  type CopyGroupOptions,
  type CopySource,
  type CreateDigest,
  compactInstant,
  copyGroup,
  type GroupHeader,
  type GroupRecord,
  groupHeaderSchema,
  IMPORTED,
  type LoadedGroup,
  loadGroup,
  runsOf,
  serializeQuestion,
  ThriceError,
} from '@thrice/core';
import { resultFormats } from './registry.ts';
import type { FileContent } from './result-format.ts';

/** Hex digits at the end of a group's name. Of an import they are of the file's digest: the same file gives the same group. */
const NAME_DIGITS = 4;

/** A file that was read, and where it is from. */
export interface GroupImport {
  readonly content: FileContent;
  readonly source: GroupHeader['specSource'];
  /** When it is imported, ISO-8601 UTC: the group is of this time if the file does not say its own. */
  readonly importedAt: string;
  readonly commandLine: readonly string[];
  readonly toolVersion: string;
}

/** What {@link importGroup} did. */
export interface ImportedGroup {
  readonly group: LoadedGroup;
  readonly counts: CopyCounts;
}

/**
 * Imports a file of results as a group, which is then like one that was run here, but for its calls: nobody has them.
 *
 * The group is copied from the file as another is from a stage, so that a crash at any place leaves a group that is
 * `cancelled` until the same import is repeated. The same file is the same group, whatever its path.
 *
 * @throws {ThriceError} `unknown-group` when the group of this file is being deleted.
 */
export async function importGroup(
  file: GroupImport,
  {
    createDigest,
    ...to
  }: Pick<CopyGroupOptions['to'], 'ledger' | 'blobs' | 'responseCache'> & {
    readonly createDigest: CreateDigest;
  },
): Promise<ImportedGroup> {
  // One that cannot be read does no harm, unless it has the name of this one: its copy is refused.
  const groups = await to.ledger.listGroups(() => undefined);
  const lines = file.content.questions.map(serializeQuestion);
  const header = findImport(file, groups) ?? planImport(file, groups, hashOf(lines, createDigest));
  const group = loadGroup({ header, state: 'active', isPlanned: true });
  const from = sourceOf(file.content, header, lines);
  const counts = await copyGroup(group, { from, to, near: from.blobs, createDigest });
  // Rows that the file lacks are nobody's task.
  await to.ledger.setGroupState(header.group, 'active');
  return { group, counts };
}

/** Finds the group that the same file was imported as, maybe under another path or by an earlier release. */
function findImport(
  { content, source }: GroupImport,
  groups: readonly GroupRecord[],
): GroupHeader | undefined {
  const found = groups.find(
    ({ header: { imported, specSource } }) =>
      imported?.format === content.file.format && specSource.sha256 === source.sha256,
  );
  if (found?.state !== 'deleting') return found?.header;
  const { group } = found.header;
  throw new ThriceError({
    code: 'unknown-group',
    message: `${source.path}: expected a file that is not imported, received that of ${group}, which is being deleted; next: thrice delete ${group}`,
  });
}

function hashOf(lines: readonly string[], createDigest: CreateDigest): string {
  const digest = createDigest();
  for (const line of lines) digest.update(line);
  return digest.hex();
}

/** @param sha256 - That of the questions. */
function planImport(
  { content, source, importedAt, commandLine, toolVersion }: GroupImport,
  groups: readonly GroupRecord[],
  sha256: string,
): GroupHeader {
  const { benchmark, questions, file } = content;
  const createdAt = content.startedAt ?? importedAt;
  const stem = `${benchmark}-${compactInstant(createdAt)}`;
  const group = freeName(stem, source.sha256, new Set(groups.map(({ header }) => header.group)));
  const configs = [...content.configs.keys()];
  return groupHeaderSchema.parse({
    schemaVersion: 1,
    group,
    benchmark,
    label: benchmark,
    createdAt,
    spec: {
      name: benchmark,
      questions: source.path,
      configs: configs.map((name) => ({ name, solver: IMPORTED, scorer: file.format })),
    },
    specSource: source,
    builtinPrices: { version: BUILTIN_PRICES_VERSION, prices: {} },
    questionSources: [],
    dataset: null,
    questions: { key: `questions/${sha256}.jsonl`, sha256, count: questions.length },
    runs: runsOf(group, 1),
    configs: configs.map((config) => ({
      config,
      cells: questions.length,
      skipped: null,
      scorer: { kind: file.format },
      scorerVersion: resultFormats.get(file.format)?.version ?? null,
    })),
    waitForQuota: false,
    reuse: [],
    keys: {},
    commandLine,
    overrides: {},
    toolVersion,
    commit: null,
    edits: [],
    imported: file,
  });
}

/** Two files of the same sweep may have the same first digits. */
function freeName(stem: string, sha256: string, taken: ReadonlySet<string>): string {
  for (let start = 0; ; start += NAME_DIGITS) {
    const name = `${stem}-${sha256.slice(start, start + NAME_DIGITS)}`;
    if (!taken.has(name)) return name;
  }
}

/** The file as what a group is copied from: cells without calls. */
function sourceOf(
  { configs }: FileContent,
  { runs: [run = ''], questions: { key: questionsKey } }: GroupHeader,
  lines: readonly string[],
): CopySource {
  return {
    ledger: {
      readCells: async (_, config, ids) =>
        new Map(
          ids.flatMap((id): [string, CellRecord][] => {
            const result = configs.get(config)?.get(id);
            if (result === undefined) return [];
            const key = { run, config, id };
            return [
              [id, { key, state: 'done', generation: 0, attempts: 0, attemptLog: [], result }],
            ];
          }),
        ),
      readJournal: async () => new Map(),
      readSubmissions: async () => new Map(),
      async *listDiscardedCalls() {},
    },
    blobs: {
      has: async (key) => key === questionsKey,
      readText: async () => undefined,
      async *readLines() {
        for (const line of lines) yield line.trimEnd();
      },
    },
  };
}
