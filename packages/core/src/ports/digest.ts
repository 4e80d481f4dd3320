/** An incremental SHA-256. */
export interface Digest {
  update(text: string): void;
  /** Lower-case hex, 64 characters; ends the digest. */
  hex(): string;
}

/** Starts a new {@link Digest}. */
export type CreateDigest = () => Digest;
