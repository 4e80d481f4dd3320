import { dirname, isAbsolute, join } from 'node:path';
import { isAddress } from '@thrice/local';

/** Returns what makes a path in a spec absolute: paths are relative to the spec; addresses stay as they are. */
export function pathResolver(spec: string): (path: string) => string {
  const folder = dirname(spec);
  return (path) => (isAbsolute(path) || isAddress(path) ? path : join(folder, path));
}
