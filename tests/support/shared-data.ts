import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** The benchmark data beside the repository; not part of it. */
export const sharedDataDir: string = resolve(import.meta.dirname, '../../../shared/data');

/** Whether that data is there. */
export const hasSharedData: boolean = existsSync(sharedDataDir);

/** Whether what a test needs from outside the repository must be there: its absence is a failure, not a reason to skip. */
export const isRequired: boolean = process.env['THRICE_SHARED_DATA'] === 'required';

if (isRequired && !hasSharedData) {
  throw new Error(`expected the benchmark data in ${sharedDataDir}, found none`);
}
