import type { BatchClientFor } from '@thrice/core';

/** For work whose lanes send no batches. */
export const noBatchClients: BatchClientFor = ({ name }) => {
  throw new Error(`expected no batch, received one for lane ${name}`);
};
