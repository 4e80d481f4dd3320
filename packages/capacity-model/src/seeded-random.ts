/**
 * Uniform numbers in 0 <= x < 1, the same sequence for the same seed. Not for cryptography.
 *
 * @param seed - Integer, 0..2^32-1.
 * @see https://github.com/bryc/code/blob/master/jshash/PRNGs.md (sfc32; 2026-11-20)
 */
export function seededRandom(seed: number): () => number {
  let a = seed | 0;
  let b = 0x9e3779b9 | 0;
  let c = 0x85ebca6b | 0;
  let counter = 1;
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 0x1_0000_0000;
  };
  // sfc32 needs a few rounds before nearby seeds give unrelated numbers.
  for (let round = 0; round < 12; round += 1) next();
  return next;
}
