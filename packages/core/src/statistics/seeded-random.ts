/**
 * Opens a stream of pseudo-random numbers for a key.
 *
 * Resampling thus gives the same figures wherever it is done. The simulator uses one stream per question instead of one
 * per process, so that no decision depends on the order in which requests arrive. Not suitable for cryptography.
 *
 * @param key - Everything the decision depends on. Parts are joined with a separator, so `('a', 1)` and
 *   `('a1')` differ.
 * @returns Uniform numbers in 0 <= x < 1, always the same sequence for the same key.
 * @see https://github.com/bryc/code/blob/master/jshash/PRNGs.md (sfc32; 2026-11-20)
 */
export function seededRandom(...key: readonly (string | number)[]): () => number {
  const text = key.join('\u0000');
  let a = hashText(text, 0x9e3779b9);
  let b = hashText(text, 0x85ebca6b);
  let c = hashText(text, 0xc2b2ae35);
  let counter = 1;
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 0x1_0000_0000;
  };
  // sfc32 needs several rounds before similar keys give unrelated numbers.
  for (let round = 0; round < 12; round += 1) next();
  return next;
}

/** FNV-1a over UTF-16 units with murmur3's finalizer. */
function hashText(text: string, basis: number): number {
  let hash = basis | 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
