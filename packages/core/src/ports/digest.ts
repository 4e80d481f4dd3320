/** An incremental SHA-256. */
export interface Digest {
  update(text: string): void;
  /** Ends the digest and returns it as 64 lowercase hex characters. */
  hex(): string;
}

/** Starts a new {@link Digest}. */
export type CreateDigest = () => Digest;
