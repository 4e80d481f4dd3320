import { resolveBenchmark } from '../builtins.ts';
import { readStoredQuestions } from '../cells/read-question.ts';
import type { Config } from '../domain/benchmark.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Question } from '../domain/question.ts';
import { assertNever, ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import { mapBounded } from '../map-bounded.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { CreateDigest } from '../ports/digest.ts';
import type { GroupRecord, Ledger } from '../ports/ledger.ts';
import type { TaskQueue } from '../ports/task-queue.ts';
import { createSelector } from '../spec/questions/select-questions.ts';
import { type CellCopy, copyCell } from './copy-cell.ts';
import { plannedConfigs } from './plan-group.ts';
import { chooseMissing, sendTasks } from './send-tasks.ts';

/** Cells in flight at once: a far store answers each after some milliseconds, a near one commits them together. */
const CELLS_AT_ONCE = 64;

/** Where a group is, or goes. */
export interface GroupStores {
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
}

/** What {@link copyGroup} needs. */
export interface CopyOrder {
  readonly from: GroupStores;
  readonly to: GroupStores & {
    /** Gets the tasks of what has no result; absent where whoever resumes the group sends them. */
    readonly queue?: Pick<TaskQueue, 'send'>;
  };
  /** The nearer one of both blob stores: the questions are read from it for as long as the copy lasts. */
  readonly near: BlobStore;
  readonly createDigest: CreateDigest;
  /** Told the counts so far, now and then. */
  readonly observe?: (counts: CopyCounts) => void;
}

/** What a copy did. */
export interface CopyCounts {
  /** Cells that somebody has claimed in the source: those copied, kept and held elsewhere. */
  readonly cells: number;
  /** Cells that the target now has as the source does. */
  readonly copied: number;
  /** Calls that the target did not have. */
  readonly calls: number;
  /** Cells that the target had so already, or further. */
  readonly kept: number;
  /** Cells with news that a worker of the target has in flight: left alone. */
  readonly heldElsewhere: number;
  /** Planned cells without a result in the source. */
  readonly sourceLeft: number;
  /** Planned cells without a result in the target. */
  readonly targetLeft: number;
}

type Counts = { -readonly [Name in keyof CopyCounts]: number };

/**
 * Copies a group from one engine to another: its questions, its header, what is known of its cells, and
 * their calls; its published files are made anew from these.
 *
 * Repeatable: after a crash, or to bring what is new. A group that has results of all its cells in the
 * target is `active` there; any other enters as `cancelled`, so that nobody works, and pays, in two places
 * unless somebody resumes it. A source at work gives a snapshot.
 *
 * State first: cells, then the tasks of what is left, then the mark that all are sent.
 *
 * @param group - As the source has it.
 * @throws {ThriceError} `already-exists`, with nothing changed, when the target has another group of this
 *   name; `store-unusable` when the source's questions are damaged.
 */
export async function copyGroup(group: GroupRecord, order: CopyOrder): Promise<CopyCounts> {
  const { header } = group;
  const { ledger } = order.to;
  const isThere = await hasGroup(header, ledger);
  await copyQuestions(header, order);
  if (!isThere) await ledger.createGroup(header, 'cancelled');
  const benchmark = resolveBenchmark(header.spec, header.specSource.path);
  const configs = plannedConfigs(header, benchmark);
  const counts = await copyCells(header, configs, order);
  const isWhole = counts.targetLeft === 0;
  if (!isWhole && group.isPlanned) await sendLeft(header, configs, order);
  if (isWhole || group.isPlanned) await ledger.markPlanned(header.group);
  if (isWhole) await ledger.setGroupState(header.group, 'active');
  return counts;
}

/** @throws {ThriceError} `already-exists` when another group has its name. */
async function hasGroup(header: GroupHeader, ledger: Ledger): Promise<boolean> {
  const existing = await ledger.readGroup(header.group);
  if (existing === undefined) return false;
  // Both come out of a ledger: their fields are in the order of their schema.
  if (JSON.stringify(existing.header) === JSON.stringify(header)) return true;
  throw new ThriceError({
    code: 'already-exists',
    message: `${header.group}: expected the same group or none, received another one of this name (made by "thrice ${existing.header.commandLine.join(' ')}"); nothing was changed`,
  });
}

async function copyQuestions(
  { questions }: GroupHeader,
  { from, to, createDigest }: CopyOrder,
): Promise<void> {
  if (await to.blobs.has(questions.key)) return;
  await to.blobs.write(questions.key, readChecked(questions, from.blobs, createDigest));
}

/** The text of a question file; what is not as it was stored ends in an error. */
async function* readChecked(
  { key, sha256 }: GroupHeader['questions'],
  blobs: BlobStore,
  createDigest: CreateDigest,
): AsyncIterable<string> {
  const digest = createDigest();
  for await (const line of blobs.readLines(key)) {
    const text = `${line}\n`;
    digest.update(text);
    yield text;
  }
  const received = digest.hex();
  if (received === sha256) return;
  throw new ThriceError({
    code: 'store-unusable',
    message: `${key}: expected sha256 ${sha256}, received ${received}; the blob is damaged`,
  });
}

async function copyCells(
  header: GroupHeader,
  configs: readonly Config[],
  order: CopyOrder,
): Promise<CopyCounts> {
  const selectors = configs.map(({ select }) => createSelector(select));
  const counts: Counts = {
    cells: 0,
    copied: 0,
    calls: 0,
    kept: 0,
    heldElsewhere: 0,
    sourceLeft: 0,
    targetLeft: 0,
  };
  for await (const page of readPages(header, order.near)) {
    const idsByConfig = selectors.map((includes) => page.filter(includes).map(({ id }) => id));
    for (const run of header.runs) {
      for (const [index, { name: config }] of configs.entries()) {
        await copyPage({ run, config, ids: idsByConfig[index] ?? [] }, order, counts);
        order.observe?.(counts);
      }
    }
  }
  return counts;
}

async function* readPages(
  header: GroupHeader,
  blobs: BlobStore,
): AsyncIterable<readonly Question[]> {
  let page: Question[] = [];
  for await (const { question } of readStoredQuestions(header, blobs)) {
    page.push(question);
    if (page.length < limits.pageSize) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Some cells of one config in one run. */
interface Page {
  readonly run: string;
  readonly config: string;
  readonly ids: readonly string[];
}

async function copyPage(
  { run, config, ids }: Page,
  { from, to }: CopyOrder,
  counts: Counts,
): Promise<void> {
  if (ids.length === 0) return;
  const [sources, targets] = await Promise.all([
    from.ledger.readCells(run, config, ids),
    to.ledger.readCells(run, config, ids),
  ]);
  await mapBounded(ids, CELLS_AT_ONCE, async (id) => {
    const source = sources.get(id);
    const target = targets.get(id);
    if (source?.result === undefined) counts.sourceLeft += 1;
    if (source === undefined) {
      if (target?.result === undefined) counts.targetLeft += 1;
      return;
    }
    count(await copyCell({ source, target }, from.ledger, to.ledger), counts);
  });
}

function count({ outcome, callCount, isDone }: CellCopy, counts: Counts): void {
  counts.cells += 1;
  counts.calls += callCount;
  if (!isDone) counts.targetLeft += 1;
  switch (outcome) {
    case 'copied':
      counts.copied += 1;
      return;
    case 'kept':
      counts.kept += 1;
      return;
    case 'held':
      counts.heldElsewhere += 1;
      return;
    default:
      assertNever(outcome);
  }
}

async function sendLeft(
  header: GroupHeader,
  configs: readonly Config[],
  { to: { ledger, queue }, near }: CopyOrder,
): Promise<void> {
  if (queue === undefined) return;
  const walk = { header, runs: header.runs, configs, choose: chooseMissing(ledger) };
  await sendTasks(walk, { blobs: near, queue });
}
