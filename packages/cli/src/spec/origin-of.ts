import type { EditOrigin, LoadedGroup } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';
import { toolVersion } from '../shell/tool-version.ts';
import { commandLineWithoutSecrets } from './secrets.ts';

/** What an edit of a group by the running command is recorded with. */
export function originOf(
  { header: { spec }, benchmark }: Pick<LoadedGroup, 'header' | 'benchmark'>,
  terminal: Terminal,
): EditOrigin {
  return { commandLine: commandLineWithoutSecrets(terminal, { benchmark, spec }), toolVersion };
}
