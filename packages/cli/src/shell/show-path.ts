import { isAbsolute, relative } from 'node:path';
import type { Terminal } from './terminal.ts';

/** Shows a path from the working folder, or as it is where it leads out of it: it fits a line, and can be pasted. */
export function showPath(path: string, { workingFolder }: Pick<Terminal, 'workingFolder'>): string {
  const inner = relative(workingFolder, path);
  const isInside = inner !== '' && !inner.startsWith('..') && !isAbsolute(inner);
  return isAbsolute(path) && isInside ? inner : path;
}
