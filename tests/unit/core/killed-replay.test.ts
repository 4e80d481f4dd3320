import {
  type CellRecord,
  type CellTask,
  type DlqEntry,
  type DlqFilter,
  type DlqReport,
  type DlqScan,
  replayMessages,
} from '@thrice/core';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aCellKey, aCellResult, aFailedResult, aGroupHeader } from '../../support/builders.ts';
import {
  aFailureEntry,
  anUnreadableEntry,
  aStrayTask,
  FakeDeadLetterQueue,
  WatchLog,
} from '../../support/dlq-messages.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeTaskQueue } from '../../support/fake-task-queue.ts';

/** A cell, its state, and its entries in the DLQ. */
interface DrawnCell {
  readonly run: string;
  readonly generation: number;
  readonly state: 'absent' | 'failed' | 'scored' | 'claimed';
  /** The generation of each message, not above the cell's. */
  readonly messages: readonly number[];
  /** Tasks in the DLQ of the cell's generation. */
  readonly strays: number;
}

/** Generates states that workers leave: a message is sent after its cell failed in the same generation. */
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
    messages: fc.array(fc.nat(2), { maxLength: 4 }),
    strays: fc.nat(2),
  })
  .map((cell) => {
    const generation = cell.state === 'absent' ? 0 : cell.generation;
    const last = cell.state === 'failed' ? generation : generation - 1;
    return { ...cell, generation, messages: cell.messages.filter((message) => message <= last) };
  });

const drawnStage = fc.record({
  cells: fc.array(drawnCell, { minLength: 1, maxLength: 6 }),
  unreadable: fc.nat(2),
  filter: fc.constantFrom<DlqFilter>(
    {},
    { runs: new Set(['demo-r1']) },
    { errorClass: 'transient' },
    { errorClass: 'internal' },
  ),
  pageSize: fc.integer({ min: 1, max: 5 }),
  /** The step at which the first replay is killed; beyond its last step, it is not killed. */
  killAt: fc.nat(40),
  /** Whether the step itself still takes effect. */
  takesEffect: fc.boolean(),
  order: fc.infiniteStream(fc.nat(1_000)),
});

type DrawnStage = typeof drawnStage extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** Kills a process at one of its steps: that step and all later ones fail. */
class Killer {
  #steps = 0;
  readonly #killAt: number;
  readonly #takesEffect: boolean;

  constructor(killAt: number, takesEffect: boolean) {
    this.#killAt = killAt;
    this.#takesEffect = takesEffect;
  }

  async step<T>(act: () => Promise<T>): Promise<T> {
    this.#steps += 1;
    if (this.#steps < this.#killAt) return await act();
    if (this.#steps === this.#killAt && this.#takesEffect) await act();
    throw new Error('killed');
  }
}

async function aStage({ cells, unreadable, pageSize, order }: DrawnStage) {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  await ledger.createGroup(aGroupHeader({ runs: ['demo-r1', 'demo-r2'] }));
  const entries: DlqEntry[] = [];
  for (const [index, { run, generation, state, messages, strays }] of cells.entries()) {
    const task = { id: `q${index}`, run };
    if (state !== 'absent') ledger.putCell(aRecord({ ...task, generation, state }));
    for (const [copy, messageGeneration] of messages.entries()) {
      const messageId = `message ${task.id} g${messageGeneration} #${copy}`;
      entries.push(aFailureEntry({ ...task, generation: messageGeneration }, { messageId }));
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
  const messages = new FakeDeadLetterQueue(shuffled, pageSize);
  return { ledger, messages, queue: new FakeTaskQueue(clock), activeGroups: new WatchLog() };
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
  const record = { key: aCellKey({ run, id }), generation, attempts: 1, attemptLog: [] };
  if (state === 'claimed') return { ...record, state };
  const result = state === 'failed' ? aFailedResult() : aCellResult();
  return { ...record, state: 'done', result };
}

/** Runs a replay in a process that may be killed. */
async function replayWith(
  { ledger, messages, queue, activeGroups }: Awaited<ReturnType<typeof aStage>>,
  filter: DlqFilter,
  killer: Killer,
): Promise<DlqReport> {
  const whole = messages.open();
  const scan: DlqScan = {
    pages: (stop) => whole.pages(stop),
    remove: (entries) => killer.step(() => whole.remove(entries)),
    unseenCount: 0,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const killableLedger = Object.assign(Object.create(ledger) as FakeLedger, {
    readGroup: (group: string) => killer.step(() => ledger.readGroup(group)),
    readCells: (run: string, config: string, ids: readonly string[]) =>
      killer.step(() => ledger.readCells(run, config, ids)),
  });
  const stores = {
    ledger: killableLedger,
    queue: {
      send: (lane: string, tasks: readonly CellTask[]) =>
        killer.step(() => queue.send(lane, tasks)),
    },
    activeGroups: { add: (group: string) => killer.step(() => activeGroups.add(group)) },
    lanes: new Set(['lab']),
  };
  return await replayMessages({ scan, filter, stop: new AbortController().signal }, stores);
}

/** Whether an entry matches the filter, implemented independently. */
function matchesFilter(entry: DlqEntry, { runs, errorClass }: DlqFilter): boolean {
  if (entry.kind === 'unreadable') return runs === undefined && errorClass !== 'transient';
  const entryClass = entry.kind === 'message' ? 'transient' : 'internal';
  return (runs?.has(entry.task.run) ?? true) && (errorClass ?? entryClass) === entryClass;
}

/** The only generation in which a cell may be sent; undefined if all of its messages are stale. */
function expectedGeneration({ state, generation }: DrawnCell): number | undefined {
  if (state === 'scored') return undefined;
  return state === 'failed' ? generation + 1 : generation;
}

describe('a replay that is killed at any step and then repeated', () => {
  it('sends every matching cell in one generation, loses none and keeps the rest', async () => {
    await fc.assert(
      fc.asyncProperty(drawnStage, async (drawn) => {
        const stage = await aStage(drawn);
        const { cells, filter, killAt, takesEffect } = drawn;
        const before = stage.messages.entries;

        await replayWith(stage, filter, new Killer(killAt + 1, takesEffect)).catch(() => undefined);
        const report = await replayWith(stage, filter, new Killer(Infinity, false));

        const kept = before.filter(
          (entry) => !matchesFilter(entry, filter) || entry.kind === 'unreadable',
        );
        expect(stage.messages.entries).toEqual(kept);
        expect(report.messages.kept).toBe(kept.length);
        const sent = stage.queue.sent.map(({ task }) => `${task.id} g${task.generation}`);
        const expected = cells.flatMap((cell, index) => {
          const generation = expectedGeneration(cell);
          const isAsked = before.some(
            (entry) =>
              entry.kind !== 'unreadable' &&
              entry.task.id === `q${index}` &&
              entry.task.generation === cell.generation &&
              matchesFilter(entry, filter),
          );
          return generation !== undefined && isAsked ? [`q${index} g${generation}`] : [];
        });
        expect([...new Set(sent)].toSorted()).toEqual(expected.toSorted());
        expect([...new Set(stage.activeGroups.activeGroup)]).toEqual(
          sent.length > 0 ? ['demo'] : [],
        );
      }),
      { numRuns: 500 },
    );
  });

  it('has the same effect as one that was not killed', async () => {
    await fc.assert(
      fc.asyncProperty(drawnStage, async (drawn) => {
        const stage = await aStage(drawn);
        const first = await replayWith(stage, drawn.filter, new Killer(Infinity, false));
        const sentCount = stage.queue.sent.length;
        const left = stage.messages.entries;

        const second = await replayWith(stage, drawn.filter, new Killer(Infinity, false));

        expect(stage.queue.sent).toHaveLength(sentCount);
        expect(stage.messages.entries).toEqual(left);
        expect(second.messages).toMatchObject({ replayed: 0, stale: 0, kept: first.messages.kept });
      }),
    );
  });
});
