import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** The benchmark data beside the repository; not part of it. */
export const sharedDataDir: string = resolve(import.meta.dirname, '../../../shared/data');

/** Whether that data is there. */
export const hasSharedData: boolean = existsSync(sharedDataDir);

// Where the data belongs to the checks, its absence is a failure, not a reason to skip.
if (process.env['THRICE_SHARED_DATA'] === 'required' && !hasSharedData) {
  throw new Error(`expected the benchmark data in ${sharedDataDir}, found none`);
}
