import { cutList, type GroupHeader, renderChange } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';

/** Says what an edit has changed in the plan of a group. */
export function reportEdit(
  before: GroupHeader,
  { group, edits }: GroupHeader,
  terminal: Terminal,
): void {
  const changes = edits.slice(before.edits.length).flatMap((edit) => edit.changes);
  const shown = cutList(changes.map(renderChange)).map((change) => `edited: ${change}`);
  if (shown.length === 0) shown.push(`the spec asks for nothing else than the plan of ${group}`);
  for (const line of shown) terminal.error(line);
}
