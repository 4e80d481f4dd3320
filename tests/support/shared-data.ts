import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** The benchmark data beside the repository; not part of it. */
export const sharedDataDir: string = resolve(import.meta.dirname, '../../../shared/data');

/** Whether that data is there. */
export const hasSharedData: boolean = existsSync(sharedDataDir);
