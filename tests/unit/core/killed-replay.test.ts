import {
  type CellRecord,
  type CellTask,
  type DeadLetterEntry,
  type DeadLetterScan,
  type LetterFilter,
  type LetterReport,
  replayLetters,
} from '@thrice/core';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aCellKey, aCellResult, aFailedResult, aGroupHeader } from '../../support/builders.ts';
import {
  aLetterEntry,
  anUnreadableEntry,
  aStrayTask,
  FakeDeadLetters,
  WatchLog,
} from '../../support/dead-letters.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeTaskQueue } from '../../support/fake-task-queue.ts';

/** A cell, where it stands, and what of it lies in the dead letters. */
interface DrawnCell {
  readonly run: string;
  readonly generation: number;
  readonly state: 'absent' | 'failed' | 'scored' | 'claimed';
  /** The generation of each letter, at most the cell's. */
  readonly letters: readonly number[];
  /** Stray tasks of the cell's generation. */
  readonly strays: number;
}

/** What a worker leaves: a letter is sent after its cell has failed in the letter's generation. */
const drawnCell: fc.Arbitrary<DrawnCell> = fc
  .record({
    run: fc.constantFrom('demo-r1', 'demo-r2'),
    generation: fc.nat(2),
    state: fc.constantFrom(
      'absent' as const,
      'failed' as const,
      'scored' as const,
      'claimed' as const,
    ),
    letters: fc.array(fc.nat(2), { maxLength: 4 }),
    strays: fc.nat(2),
  })
  .map((cell) => {
    const generation = cell.state === 'absent' ? 0 : cell.generation;
    const last = cell.state === 'failed' ? generation : generation - 1;
    return { ...cell, generation, letters: cell.letters.filter((own) => own <= last) };
  });

const drawnStage = fc.record({
  cells: fc.array(drawnCell, { minLength: 1, maxLength: 6 }),
  unreadable: fc.nat(2),
  filter: fc.constantFrom<LetterFilter>(
    {},
    { runs: new Set(['demo-r1']) },
    { errorClass: 'transient' },
    { errorClass: 'defect' },
  ),
  pageSize: fc.integer({ min: 1, max: 5 }),
  /** The step of the first replay at which it is killed; beyond its last, it is not. */
  killAt: fc.nat(40),
  /** Whether the step takes place. */
  isDone: fc.boolean(),
  order: fc.infiniteStream(fc.nat(1_000)),
});

type DrawnStage = typeof drawnStage extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** Ends a process at one of its steps: that one and all later ones fail. */
class Killer {
  #steps = 0;
  readonly #killAt: number;
  readonly #isDone: boolean;

  constructor(killAt: number, isDone: boolean) {
    this.#killAt = killAt;
    this.#isDone = isDone;
  }

  async step<T>(act: () => Promise<T>): Promise<T> {
    this.#steps += 1;
    if (this.#steps < this.#killAt) return await act();
    if (this.#steps === this.#killAt && this.#isDone) await act();
    throw new Error('killed');
  }
}

async function aStage({ cells, unreadable, pageSize, order }: DrawnStage) {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  await ledger.createGroup(aGroupHeader({ runs: ['demo-r1', 'demo-r2'] }));
  const entries: DeadLetterEntry[] = [];
  for (const [index, { run, generation, state, letters, strays }] of cells.entries()) {
    const task = { id: `q${index}`, run };
    if (state !== 'absent') ledger.putCell(aRecord({ ...task, generation, state }));
    for (const [copy, own] of letters.entries()) {
      const messageId = `letter ${task.id} g${own} #${copy}`;
      entries.push(aLetterEntry({ ...task, generation: own }, { messageId }));
    }
    for (let copy = 0; copy < strays; copy += 1) {
      const messageId = `task ${task.id} g${generation} #${copy}`;
      entries.push(aStrayTask({ ...task, generation }, { messageId }));
    }
  }
  for (let copy = 0; copy < unreadable; copy += 1) {
    entries.push(anUnreadableEntry({ messageId: `unreadable #${copy}` }));
  }
  const ranks = new Map(entries.map((entry) => [entry, order.next().value]));
  const shuffled = entries.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
  const letters = new FakeDeadLetters(shuffled, pageSize);
  return { ledger, letters, queue: new FakeTaskQueue(clock), watchlist: new WatchLog() };
}

function aRecord({
  id,
  run,
  generation,
  state,
}: {
  readonly id: string;
  readonly run: string;
  readonly generation: number;
  readonly state: 'failed' | 'scored' | 'claimed';
}): CellRecord {
  const record = { key: aCellKey({ run, id }), generation, tries: 1, attempts: [] };
  if (state === 'claimed') return { ...record, state };
  const result = state === 'failed' ? aFailedResult() : aCellResult();
  return { ...record, state: 'done', result };
}

/** Replays as a process that may be killed. */
async function replayWith(
  { ledger, letters, queue, watchlist }: Awaited<ReturnType<typeof aStage>>,
  filter: LetterFilter,
  killer: Killer,
): Promise<LetterReport> {
  const whole = letters.open();
  const scan: DeadLetterScan = {
    pages: (stop) => whole.pages(stop),
    remove: (entries) => killer.step(() => whole.remove(entries)),
    unseenCount: 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const mortalLedger = Object.assign(Object.create(ledger) as FakeLedger, {
    readGroup: (group: string) => killer.step(() => ledger.readGroup(group)),
    readCells: (run: string, config: string, ids: readonly string[]) =>
      killer.step(() => ledger.readCells(run, config, ids)),
  });
  const stores = {
    ledger: mortalLedger,
    queue: {
      send: (lane: string, tasks: readonly CellTask[]) =>
        killer.step(() => queue.send(lane, tasks)),
    },
    watchlist: { watch: (group: string) => killer.step(() => watchlist.watch(group)) },
    lanes: new Set(['lab']),
  };
  return await replayLetters({ scan, filter, stop: new AbortController().signal }, stores);
}

/** Whether an entry is meant, said once more. */
function isMeant(entry: DeadLetterEntry, { runs, errorClass }: LetterFilter): boolean {
  if (entry.kind === 'unreadable') return runs === undefined && errorClass !== 'transient';
  const ownClass = entry.kind === 'letter' ? 'transient' : 'defect';
  return (runs?.has(entry.task.run) ?? true) && (errorClass ?? ownClass) === ownClass;
}

/** The one generation that a cell's letters may be sent in; undefined if they are all stale. */
function expectedGeneration({ state, generation }: DrawnCell): number | undefined {
  if (state === 'scored') return undefined;
  return state === 'failed' ? generation + 1 : generation;
}

describe('a replay that is killed at any step, and another to the end', () => {
  it('sends every cell that is meant in one generation, loses none and keeps the rest', async () => {
    await fc.assert(
      fc.asyncProperty(drawnStage, async (drawn) => {
        const stage = await aStage(drawn);
        const { cells, filter, killAt, isDone } = drawn;
        const before = stage.letters.entries;

        await replayWith(stage, filter, new Killer(killAt + 1, isDone)).catch(() => undefined);
        const report = await replayWith(stage, filter, new Killer(Infinity, false));

        const kept = before.filter(
          (entry) => !isMeant(entry, filter) || entry.kind === 'unreadable',
        );
        expect(stage.letters.entries).toEqual(kept);
        expect(report.letters.kept).toBe(kept.length);
        const sent = stage.queue.sent.map(({ task }) => `${task.id} g${task.generation}`);
        const expected = cells.flatMap((cell, index) => {
          const generation = expectedGeneration(cell);
          const isAsked = before.some(
            (entry) =>
              entry.kind !== 'unreadable' &&
              entry.task.id === `q${index}` &&
              entry.task.generation === cell.generation &&
              isMeant(entry, filter),
          );
          return generation !== undefined && isAsked ? [`q${index} g${generation}`] : [];
        });
        expect([...new Set(sent)].toSorted()).toEqual(expected.toSorted());
        expect([...new Set(stage.watchlist.watched)]).toEqual(sent.length > 0 ? ['demo'] : []);
      }),
      { numRuns: 500 },
    );
  });

  it('has the effect of one where it was not killed', async () => {
    await fc.assert(
      fc.asyncProperty(drawnStage, async (drawn) => {
        const stage = await aStage(drawn);
        const first = await replayWith(stage, drawn.filter, new Killer(Infinity, false));
        const sentCount = stage.queue.sent.length;
        const left = stage.letters.entries;

        const second = await replayWith(stage, drawn.filter, new Killer(Infinity, false));

        expect(stage.queue.sent).toHaveLength(sentCount);
        expect(stage.letters.entries).toEqual(left);
        expect(second.letters).toMatchObject({ replayed: 0, stale: 0, kept: first.letters.kept });
      }),
    );
  });
});
