/**
 * Artifacts by key (`runs/<group>/...`): question files, cells, summaries.
 *
 * **Atomicity.** A reader sees the old text or the new one, never a part.
 * **Idempotency.** Writing the same text again changes nothing a reader could see.
 * **Limits.** Keys are relative, `/`-parted, without empty, `.` or `..` parts.
 */
export interface BlobStore {
  /**
   * Writes a blob whole, replacing what was there; memory stays flat for streamed chunks.
   *
   * @throws {ThriceError} `store-unusable` when the store takes no more (full, read-only).
   */
  write(key: string, chunks: AsyncIterable<string> | Iterable<string>): Promise<void>;
  /** The whole text; undefined if there is no such blob. */
  readText(key: string): Promise<string | undefined>;
  /** The lines of a blob without their ends, streamed; none if there is no such blob. */
  readLines(key: string): AsyncIterable<string>;
  /**
   * The UTF-8 text of a byte range.
   *
   * @throws {ThriceError} `store-unusable` when the blob is absent or shorter.
   */
  readRange(key: string, offsetBytes: number, lengthBytes: number): Promise<string>;
  has(key: string): Promise<boolean>;
}
