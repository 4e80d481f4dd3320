/**
 * Artifacts by key (`runs/<group>/...`): question files, cells, summaries.
 *
 * **Atomicity.** A reader sees the old text or the new one, never a part; who reads after a write
 * has resolved sees that write, or a later one. Of writes at the same time one stands, whole.
 * **Idempotency.** Writing the same text again changes nothing a reader could see.
 * **Limits.** Keys are relative, `/`-parted, without empty, `.` or `..` parts; with any other key a
 * method throws `invariant-violated`. Ranges are read from blobs that are never replaced: a process
 * may go on reading the old text of one that another process replaced.
 */
export interface BlobStore {
  /**
   * Writes a blob whole, replacing what was there; memory stays flat for streamed chunks.
   *
   * When `chunks` throws, the error is passed on and what was there stays.
   *
   * @throws {ThriceError} `store-unusable` when the store takes no more (full, read-only).
   */
  write(key: string, chunks: AsyncIterable<string> | Iterable<string>): Promise<void>;
  /** The whole text; undefined if there is no such blob. */
  readText(key: string): Promise<string | undefined>;
  /**
   * The lines of a blob without their ends (`\n` or `\r\n`, nothing else), streamed; none if there is
   * no such blob.
   */
  readLines(key: string): AsyncIterable<string>;
  /**
   * The UTF-8 text of a byte range that begins and ends between characters.
   *
   * @throws {ThriceError} `store-unusable` when the blob is absent or shorter.
   */
  readRange(key: string, offsetBytes: number, lengthBytes: number): Promise<string>;
  has(key: string): Promise<boolean>;
}
