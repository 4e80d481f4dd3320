/** Reads what the user points at: specs, prompts, question files, dataset folders. */
export interface SourceReader {
  /**
   * The lines of a UTF-8 text file without their ends, streamed.
   *
   * @throws {ThriceError} `invalid-file` when it cannot be read.
   */
  readLines(path: string): AsyncIterable<string>;
  /**
   * A whole UTF-8 text file.
   *
   * @throws {ThriceError} `invalid-file` when it cannot be read.
   */
  readText(path: string): Promise<string>;
  /** Names in a folder, sorted by code unit; undefined if there is no such folder. */
  listFolder(path: string): Promise<readonly string[] | undefined>;
  /**
   * SHA-256 of a file's bytes, hex; undefined if there is no such file.
   *
   * @throws {ThriceError} `invalid-file` when it is there but cannot be read.
   */
  digestFile(path: string): Promise<string | undefined>;
}
