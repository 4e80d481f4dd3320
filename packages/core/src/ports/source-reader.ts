/** Reads the files a user names: specs, prompts, question files, dataset folders. */
export interface SourceReader {
  /**
   * Streams the lines of a UTF-8 text file without their line endings.
   *
   * @throws {ThriceError} `invalid-file` when it cannot be read.
   */
  readLines(path: string): AsyncIterable<string>;
  /**
   * Reads a whole UTF-8 text file.
   *
   * @throws {ThriceError} `invalid-file` when it cannot be read.
   */
  readText(path: string): Promise<string>;
  /** Lists the names in a folder, sorted by code unit. Undefined if the folder does not exist. */
  listFolder(path: string): Promise<readonly string[] | undefined>;
  /**
   * Returns the SHA-256 of a file's bytes in hex, or undefined if the file does not exist.
   *
   * @throws {ThriceError} `invalid-file` when it exists but cannot be read.
   */
  digestFile(path: string): Promise<string | undefined>;
}
