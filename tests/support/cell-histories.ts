import {
  type BenchmarkSpec,
  type BlobStore,
  type CellKey,
  type CellRecord,
  type CellResult,
  type GroupHeader,
  type GroupRecord,
  hasScore,
  type JournalEntry,
  type Ledger,
  type Tally,
} from '@thrice/core';
import fc from 'fast-check';
import {
  aCall,
  aCellResult,
  aFailedResult,
  aGroupHeader,
  aJournalEntry,
  anAttempt,
  aPlannedConfig,
  aQuestion,
} from './builders.ts';
import { sha256 } from './fake-source-reader.ts';

const lanes = { lab: { base_url: 'http://127.0.0.1:1800/v1' } };

/** A spec with one config on its own lane. */
export function aLabSpec(parts: Partial<BenchmarkSpec> = {}): BenchmarkSpec {
  return { ...aGroupHeader().spec, lanes, ...parts };
}

const ids = ['q1', 'q2', 'q3'];
const configs = ['direct', 'few'];
const runs = ['demo-r1', 'demo-r2'];

const allKeys: readonly CellKey[] = runs.flatMap((run) =>
  configs.flatMap((config) => ids.map((id) => ({ run, config, id }))),
);

/** The cells that {@link someDeeds} act on. */
const keys: readonly CellKey[] = [
  { run: 'demo-r1', config: 'direct', id: 'q1' },
  { run: 'demo-r1', config: 'direct', id: 'q3' },
  { run: 'demo-r1', config: 'few', id: 'q1' },
  { run: 'demo-r2', config: 'direct', id: 'q1' },
];

/** Stores a planned group with three questions and two configs, one of which selects only the first question. */
export async function storeGroup(
  { ledger, blobs }: { readonly ledger: Ledger; readonly blobs: BlobStore },
  parts: Partial<GroupHeader> = {},
): Promise<GroupHeader> {
  const text = ids.map((id) => `${JSON.stringify(aQuestion({ id }))}\n`).join('');
  const key = `questions/${sha256(text)}.jsonl`;
  const [direct] = aLabSpec().configs;
  const header = aGroupHeader({
    spec: aLabSpec({
      replicates: 2,
      // The ten tokens of a call cost 0.25.
      prices: { 'lab/m': { input: 25_000, output: 0 } },
      configs: direct ? [direct, { ...direct, name: 'few', select: { start: 0, limit: 1 } }] : [],
    }),
    questions: { key, sha256: sha256(text), count: ids.length },
    runs,
    configs: [aPlannedConfig({ cells: 3 }), aPlannedConfig({ config: 'few' })],
    ...parts,
  });
  await blobs.write(key, [text]);
  await ledger.createGroup(header);
  await ledger.markPlanned(header);
  return header;
}

/** An action that a worker performs on one cell, if possible. */
export interface Deed {
  readonly key: CellKey;
  readonly kind:
    | 'hold'
    | 'commit a call'
    | 'give back'
    | 'score'
    | 'misread'
    | 'leave ungraded'
    | 'fail'
    | 'rerun';
  /** Failed attempts to record. */
  readonly attemptCount: number;
}

/** Generates random histories of a few cells. */
export function someDeeds(): fc.Arbitrary<readonly Deed[]> {
  const kinds: readonly Deed['kind'][] = [
    'hold',
    'commit a call',
    'give back',
    'score',
    'misread',
    'leave ungraded',
    'fail',
    'rerun',
  ];
  const deed = fc.record({
    key: fc.constantFrom(...keys),
    kind: fc.constantFrom(...kinds),
    // Some attempt logs are long enough to be truncated.
    attemptCount: fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 2 }) }, fc.nat({ max: 40 })),
  });
  return fc.array(deed, { maxLength: 14 });
}

/** A worker of one machine that performs actions; each of its attempts is unique. */
export class Chronicle {
  readonly #ledger: Ledger;
  readonly #owner: string;
  #count = 0;

  constructor(ledger: Ledger, owner = 'ann') {
    this.#ledger = ledger;
    this.#owner = owner;
  }

  async live(deeds: readonly Deed[]): Promise<void> {
    for (const deed of deeds) await this.#perform(deed);
  }

  async #perform({ key, kind, attemptCount }: Deed): Promise<void> {
    const cell = await this.#holdCell(key, kind === 'rerun');
    if (cell === undefined || kind === 'hold' || kind === 'rerun') return;
    if (kind === 'commit a call') {
      await this.#ledger.commitCall(key, this.#call());
      return;
    }
    const attemptLog = Array.from({ length: attemptCount }, () =>
      anAttempt({ at: this.#instant(), costUsd: 0.125 }),
    );
    const attempts = cell.attempts + attemptCount;
    if (kind === 'give back') {
      await this.#ledger.releaseCell(key, this.#owner, attemptLog, attempts);
      return;
    }
    const result = await this.#result(key, kind, attempts);
    await this.#ledger.completeCell(key, this.#owner, result, attemptLog);
  }

  /** Claims the cell unless it is claimed already. Returns undefined if the cell is done. */
  async #holdCell(key: CellKey, isRerun: boolean): Promise<CellRecord | undefined> {
    const cell = (await this.#ledger.readCells(key.run, key.config, [key.id])).get(key.id);
    if (cell?.state === 'claimed') return cell;
    const isReclaimed = isRerun && cell?.result !== undefined && !hasScore(cell.result.outcome);
    const generation = (cell?.generation ?? 0) + (isReclaimed ? 1 : 0);
    const claim = await this.#ledger.claimCell(key, generation, this.#owner);
    return claim.kind === 'claimed' ? claim.cell : undefined;
  }

  async #result(key: CellKey, kind: Deed['kind'], attempts: number): Promise<CellResult> {
    if (kind === 'fail') return aFailedResult({ attempts: Math.max(1, attempts) });
    const { call } = await this.#ledger.commitCall(key, this.#call());
    const { startedAt, latencyMs, costUsd } = call;
    const shared = { attempts: attempts + 1, calls: [call], startedAt, latencyMs, costUsd };
    switch (kind) {
      case 'misread':
        return aCellResult({ ...shared, outcome: 'unparsed', score: 0, answer: null });
      case 'leave ungraded':
        return aCellResult({ ...shared, outcome: 'ungraded', score: null });
      default:
        return aCellResult(shared);
    }
  }

  #call(): JournalEntry {
    return aJournalEntry({ call: aCall({ startedAt: this.#instant(), costUsd: 0.25 }) });
  }

  #instant(): string {
    this.#count += 1;
    const name = this.#owner.charCodeAt(0);
    return new Date(Date.UTC(2026, 0, 1, 0, name, 0, this.#count)).toISOString();
  }
}

/** Everything a ledger stores about a group. */
export interface LedgerView {
  readonly group: GroupRecord | undefined;
  readonly cells: readonly CellRecord[];
  readonly journals: readonly (readonly [string, readonly JournalEntry[]])[];
  /** Tallies that are not all zeros; a ledger may omit those. */
  readonly tallies: readonly Tally[];
}

/** Reads everything a ledger stores about a group. */
export async function viewLedger(ledger: Ledger, group = 'demo'): Promise<LedgerView> {
  const tallies = (await Promise.all(runs.map((run) => ledger.readTallies(run)))).flat();
  const cells: CellRecord[] = [];
  const journals: (readonly [string, readonly JournalEntry[]])[] = [];
  for (const key of allKeys) {
    const cell = (await ledger.readCells(key.run, key.config, [key.id])).get(key.id);
    if (cell !== undefined) cells.push(cell);
    const journal = await ledger.readJournal(key);
    if (journal.size > 0) journals.push([Object.values(key).join(' '), [...journal.values()]]);
  }
  return {
    group: await ledger.readGroup(group),
    cells,
    journals,
    tallies: tallies
      .filter(({ counts }) => Object.values(counts).some((count) => count !== 0))
      .toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1)),
  };
}

function nameOf({ run, config }: Tally): string {
  return `${run} ${config}`;
}

/** The expected copy of an unfinished group: cancelled, with no cell held by a worker. */
export function copyOf({ group, cells, ...view }: LedgerView): LedgerView {
  return {
    ...view,
    group: group && { ...group, state: 'cancelled' },
    cells: cells.map((cell) => (cell.state === 'claimed' ? { ...cell, state: 'released' } : cell)),
  };
}
