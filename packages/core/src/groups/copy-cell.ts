import type { JournalEntry } from '../domain/call.ts';
import {
  type Attempt,
  type CellKey,
  type CellRecord,
  type CellResult,
  hasScore,
} from '../domain/cell.ts';
import type { Ledger } from '../ports/ledger.ts';

/**
 * The owner of the leases that copies take. All copies share the name: one that was cut off leaves cells
 * in flight, which the next one goes on with at once.
 */
const OWNER = 'copy';

/** A cell as two ledgers have it. */
export interface CellPair {
  readonly source: CellRecord;
  /** Undefined if nobody ever claimed it there. */
  readonly target: CellRecord | undefined;
}

/** What became of one cell of the source. */
export interface CellCopy {
  readonly outcome: /** The target has it as the source does now. */
    | 'copied'
    /** The target had it so, or was further. */
    | 'kept'
    /** A worker of the target has it in flight: it was left alone. */
    | 'held';
  /** Calls that the target did not have. */
  readonly callCount: number;
  /** Whether the target has a result of it. */
  readonly isDone: boolean;
}

/**
 * Brings what one ledger knows of a cell to another.
 *
 * Never a step back: a score of the target stays, and so does what is of a later generation or has a
 * result where the source has none. A cell in flight at the source arrives as one given back.
 *
 * Claimed before its journal is written: whoever finds a cell that nobody held takes its journal for
 * empty. A crash anywhere leaves a cell that the next copy, or a worker, goes on with.
 */
export async function copyCell(pair: CellPair, from: Ledger, to: Ledger): Promise<CellCopy> {
  const { source, target } = pair;
  if (isGraded(target)) return { outcome: 'kept', callCount: 0, isDone: true };
  const { missing, hasOther } = await compareJournals(pair, from, to);
  // Where both sides asked, each has an answer of its own, and a result belongs to its answer.
  const taken = await take(pair, !hasOther && isBehind(pair), to);
  if (taken === 'held') return { outcome: 'held', callCount: 0, isDone: false };
  const isSameJournal = (await commitCalls(source.key, missing, to)) && !hasOther;
  const callCount = missing.length;
  if (taken === 'kept' || taken === 'done') {
    return { outcome: 'kept', callCount, isDone: taken === 'done' || target?.result !== undefined };
  }
  const result = isSameJournal ? source.result : undefined;
  const isWritten = await write({ source, result, taken }, to);
  const isDone = isWritten && result !== undefined;
  return { outcome: isWritten ? 'copied' : 'held', callCount, isDone };
}

interface JournalDifference {
  /** What the target lacks. */
  readonly missing: readonly JournalEntry[];
  /** Whether the target has another call in the place of one. */
  readonly hasOther: boolean;
}

async function compareJournals(
  { source: { key }, target }: CellPair,
  from: Ledger,
  to: Ledger,
): Promise<JournalDifference> {
  const [theirs, own] = await Promise.all([
    from.readJournal(key),
    // Nobody held it, so its journal is empty.
    target === undefined ? new Map<string, JournalEntry>() : to.readJournal(key),
  ]);
  const missing = [...theirs].flatMap(([step, entry]) => (own.has(step) ? [] : [entry]));
  const hasOther = [...theirs].some(([step, entry]) => {
    const existing = own.get(step);
    return existing !== undefined && !isSame(existing, entry);
  });
  return { missing, hasOther };
}

/** @returns Whether each of the calls is the one that stands now. */
async function commitCalls(
  key: CellKey,
  entries: readonly JournalEntry[],
  to: Ledger,
): Promise<boolean> {
  let isOwn = true;
  for (const entry of entries) isOwn = isSame(await to.commitCall(key, entry), entry) && isOwn;
  return isOwn;
}

/**
 * Takes a cell of the target in flight, if there is something to bring.
 *
 * @returns The cell as the lease has it, or why there is none.
 */
async function take(
  { source, target }: CellPair,
  isNews: boolean,
  to: Ledger,
): Promise<CellRecord | 'kept' | 'held' | 'done'> {
  const { key } = source;
  if (target?.state === 'claimed') {
    // What a copy left in flight; claimed anew, it would count as an attempt of a worker that died.
    const [lost] = await to.extendLeases([key], OWNER);
    if (lost === undefined) return target;
  }
  if (!isNews) return 'kept';
  // A cell that is done is taken in a later generation only.
  const least = target?.result === undefined ? 0 : target.generation + 1;
  const claim = await to.claimCell(key, Math.max(source.generation, least), OWNER);
  return claim.kind === 'claimed' ? claim.cell : claim.kind;
}

/** @returns False, with nothing changed, if a worker took the cell over meanwhile. */
async function write(
  {
    source: { key, attemptLog, attempts },
    result,
    taken,
  }: {
    readonly source: CellRecord;
    readonly result: CellResult | undefined;
    readonly taken: CellRecord;
  },
  to: Ledger,
): Promise<boolean> {
  const missing = missingAttemptLog(taken.attemptLog, attemptLog);
  if (result !== undefined) return await to.completeCell(key, OWNER, result, missing);
  await to.releaseCell(key, OWNER, missing, attempts);
  return true;
}

/** Whether the target, which has no score, knows less than the source. */
function isBehind({ source, target }: CellPair): boolean {
  if (target === undefined || isGraded(source)) return true;
  if (target.generation !== source.generation) return target.generation < source.generation;
  if (target.result !== undefined) return false;
  if (source.result !== undefined || source.attempts > target.attempts) return true;
  return missingAttemptLog(target.attemptLog, source.attemptLog).length > 0;
}

function isGraded(cell: CellRecord | undefined): boolean {
  return cell?.result !== undefined && hasScore(cell.result.outcome);
}

/**
 * What of a history is to be added to what is known of it.
 *
 * Both may have lost their beginning. What is known ends as a part of the history does, unless both
 * sides worked on the cell since: then the last attempt that both know is where the news begins.
 */
function missingAttemptLog(known: readonly Attempt[], all: readonly Attempt[]): readonly Attempt[] {
  for (let count = Math.min(known.length, all.length); count > 0; count -= 1) {
    if (isSame(known.slice(-count), all.slice(0, count))) return all.slice(count);
  }
  const lastShared = all.findLastIndex((attempt) => known.some((own) => isSame(own, attempt)));
  return all.slice(lastShared + 1);
}

/** Both come out of a ledger: their fields are in the order of their schema. */
function isSame(left: object, right: object): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
