import { type CellAtWork, type IdentifiedCall, placeOf } from '../cells/cell-at-work.ts';
import { modelRefOf } from '../domain/breaker.ts';
import type { JournalEntry } from '../domain/call.ts';
import { takenEntry } from './shared-calls.ts';
import { isServedAsAsked } from './take-shared-call.ts';

/**
 * Takes the verdict that another grading of the same answer has bought, where its judge was asked the same: another one is
 * bought for another prompt, model, target or answer alone.
 *
 * @returns Undefined for a call to make, and in a cell that does not grade.
 */
export async function takeEarlierVerdict(
  cell: CellAtWork,
  call: IdentifiedCall,
): Promise<JournalEntry | undefined> {
  const { key, config, worker } = cell;
  const { run, id } = key;
  for (const { name } of listOtherGradings(cell, call)) {
    const buyer = { run, id, config: name };
    const verdicts = await worker.ledger.readJournal(buyer);
    const entry = [...verdicts.values()].find(
      ({ fingerprint, sample }) => fingerprint === call.fingerprint && sample === call.sample,
    );
    if (entry === undefined || !isServedAsAsked(cell, call, entry)) continue;
    const place = { ...placeOf(cell, call), insteadOf: call.insteadOf };
    const taken = takenEntry({ buyer: { ...buyer, step: entry.step }, entry }, place, config);
    return await cell.journal.commit(taken);
  }
  return undefined;
}

/** The configs whose cells have asked the same model about the same answer, each for a grading of its own. */
function listOtherGradings({ config, worker }: CellAtWork, { request }: IdentifiedCall) {
  if (config.grades === undefined) return [];
  const isProbe = config.probes !== undefined;
  return worker.benchmark.gradeConfigs.filter(
    ({ name, grades, probes, roles }) =>
      name !== config.name &&
      grades === config.grades &&
      (probes !== undefined) === isProbe &&
      roles.some((role) => modelRefOf(role) === modelRefOf(request)),
  );
}
