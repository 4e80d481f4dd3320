import { answeringConfigOf } from '../domain/grade-cell.ts';
import { type GroupHeader, groupHeaderSchema } from '../domain/group.ts';
import { writePlan } from '../plan/plan-group.ts';
import type { FinalizeStores } from '../publish/graded-group.ts';
import type { LoadedGroup } from '../spec/load-group.ts';
import { editedMeanwhile } from './edited-meanwhile.ts';
import type { EditOrigin } from './later-judges.ts';

/**
 * Adds to the plan of a group that the grading of some configs is probed. No judge is asked yet, and the group is not planned
 * until the tasks of these probes are sent.
 *
 * @param gradeConfigs - The configs whose cells grade, by name.
 * @returns The header as it is then.
 * @throws {ThriceError} `spec-changed` when another command edits or deletes the group.
 */
export async function probeGroup(
  { header }: Pick<LoadedGroup, 'header'>,
  gradeConfigs: readonly string[],
  { commandLine, toolVersion }: EditOrigin,
  { ledger, blobs, clock }: Pick<FinalizeStores, 'ledger' | 'blobs' | 'clock'>,
): Promise<GroupHeader> {
  const { probed = [], edits } = header;
  const added = gradeConfigs.filter((name) => !probed.includes(name));
  if (added.length === 0) return header;
  const edit = {
    at: clock.toIso(clock.now()),
    commandLine: [...commandLine],
    toolVersion,
    changes: added.map((name) => ({
      key: `configs.${answeringConfigOf(name)}.probes`,
      was: null,
      is: 'all',
    })),
    before: { specSha256: header.specSource.sha256, questions: header.questions },
  };
  const edited = groupHeaderSchema.parse({
    ...header,
    probed: [...probed, ...added],
    edits: [...edits, edit],
  });
  if (!(await ledger.replaceHeader(header, edited))) throw editedMeanwhile(header);
  await writePlan(edited, blobs);
  return edited;
}
