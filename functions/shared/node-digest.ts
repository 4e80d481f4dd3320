import { createHash } from 'node:crypto';
import type { CreateDigest } from '@thrice/core';

/** Computes SHA-256 with `node:crypto`. */
export const createNodeDigest: CreateDigest = () => {
  const hash = createHash('sha256');
  return {
    update: (text) => {
      hash.update(text, 'utf8');
    },
    hex: () => hash.digest('hex'),
  };
};
