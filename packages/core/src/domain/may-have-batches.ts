import type { GroupHeader } from './group.ts';

/** Whether calls of a group may wait in batches: a lane of its plan sends them so, or may have done before an edit. */
export function mayHaveBatches({ spec, edits }: Pick<GroupHeader, 'spec' | 'edits'>): boolean {
  const lanes = Object.values(spec.lanes ?? {});
  if (lanes.some(({ batch = false }) => batch !== false)) return true;
  return edits.some(({ changes }) => changes.some(({ key }) => key.startsWith('lanes')));
}
