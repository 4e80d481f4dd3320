import type {
  CellError,
  CellResult,
  ExportedRun,
  Grade,
  ImportedFile,
  ImportedRow,
  Question,
} from '@thrice/core';

/** A file of results, to be imported. */
export interface ResultFile {
  /** As errors name it. */
  readonly path: string;
  readonly text: string;
}

/**
 * Says what the text of an error means that another tool has recorded.
 *
 * @param at - About when, ISO-8601 UTC, for a text that names a time of day; undefined if that is unknown.
 */
export type ClassifyError = (text: string, at: string | undefined) => CellError;

/** What a file of results says, before it is a group. */
export interface FileContent {
  /** The name of the benchmark. */
  readonly benchmark: string;
  /** When its run began, ISO-8601 UTC; undefined if the file does not say it. */
  readonly startedAt: string | undefined;
  readonly questions: readonly Question[];
  /** The results by question, of each config. A cell that the file says nothing of has none. */
  readonly configs: ReadonlyMap<string, ReadonlyMap<string, CellResult>>;
  readonly file: ImportedFile;
}

/** What a tool says of a run beside its scores: as JSON, and as a table with a line for each config. */
export interface FormatView {
  /** One for each config. */
  readonly figures: readonly object[];
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What the columns mean, a line each. */
  readonly legend: readonly string[];
}

/** A format in which other tools keep their results. One file a format; the registry lists them. */
export interface ResultFormat {
  readonly name: string;
  /** Recorded with what is imported; raise it when a row comes to mean something else. */
  readonly version: number;
  /**
   * Reads a file.
   *
   * @throws {ThriceError} `invalid-file`, with the line, for what is not of this format.
   */
  read(file: ResultFile, classify: ClassifyError): FileContent;
  /** What its questions are of: a copy of it shows whether a file is of the same. */
  readonly dataset: {
    /** As in a spec. */
    readonly name: string;
    /**
     * Compares the targets of a file, whose path errors name, with those of the dataset.
     *
     * @returns How many were compared.
     * @throws {ThriceError} `invalid-file` for one that is another.
     */
    checkTargets(path: string, content: FileContent, questions: readonly Question[]): number;
  };
  /**
   * Grades an imported row again.
   *
   * @param error - What its text was classified as; null without an error.
   * @returns Undefined for a row that is not of this format.
   */
  grade(imported: ImportedRow, error: CellError | null): Grade | UngradedRow | undefined;
  /**
   * Writes a run, line by line, each with its line feed.
   *
   * @throws {ThriceError} `unsupported` for what the format has no place for.
   */
  write(run: ExportedRun): Iterable<string>;
  /**
   * Computes the figures that the tool itself would publish of a run.
   *
   * @throws {ThriceError} `unsupported`, as {@link write}.
   */
  view(run: ExportedRun): FormatView;
}

/** A row of a cell that was not answered. */
export interface UngradedRow {
  readonly outcome: 'failed' | 'not-attempted';
  readonly score: null;
  readonly answer: null;
  readonly reason: string | null;
}
