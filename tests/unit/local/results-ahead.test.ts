import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import {
  type Benchmark,
  type CellKey,
  type CellResult,
  finalizeGroup,
  type GroupHeader,
  limits,
} from '@thrice/core';
import { LocalEngine, ResultsAhead } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { additions, toJsonl } from '../../support/additions.ts';
import {
  aBenchmark,
  aCellResult,
  aConfig,
  aFailedResult,
  aJournalEntry,
} from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { aPlanIn } from '../../support/local-work.ts';
import { planGroup } from '../../support/plan-group.ts';
import { settledBy } from '../../support/settled-by.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

/** One page of questions and one question more. */
const QUESTION_COUNT = limits.pageSize + 1;
const OWNER = 'worker';
const scorer = { kind: 'numeric', tolerance: 0 } as const;
const oneConfig = aBenchmark({ configs: [aConfig({ scorer })] });
const twoConfigs = aBenchmark({
  configs: [aConfig({ name: 'a', scorer }), aConfig({ name: 'b', scorer })],
});
const questions = additions(QUESTION_COUNT);
const ids = questions.map(({ id }) => id);

/** A planned group whose cells are completed by hand. */
class Work implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly engine: LocalEngine;
  readonly header: GroupHeader;
  readonly benchmark: Benchmark;
  readonly #folder: TemporaryFolder;

  private constructor(
    init: Pick<Work, 'clock' | 'engine' | 'header' | 'benchmark'>,
    folder: TemporaryFolder,
  ) {
    this.clock = init.clock;
    this.engine = init.engine;
    this.header = init.header;
    this.benchmark = init.benchmark;
    this.#folder = folder;
  }

  static async plan(benchmark = oneConfig): Promise<Work> {
    const folder = await temporaryFolder({ 'q.jsonl': toJsonl(questions) });
    const clock = new FakeClock();
    const engine = new LocalEngine(folder.path, clock);
    const header = await planGroup(await aPlanIn(folder, { benchmark, clock }), engine);
    return new Work({ clock, engine, header, benchmark }, folder);
  }

  /** Prepares the results; there is always time. */
  prepare(): ResultsAhead {
    const { engine, header, benchmark } = this;
    const userCode = inProcessPatterns;
    return new ResultsAhead({ engine, header, benchmark, userCode, hasTime: () => true });
  }

  keyOf(id: string, config = this.benchmark.configs[0]?.name ?? ''): CellKey {
    return { run: this.header.runs[0] ?? '', config, id };
  }

  /** Completes cells as a worker does, their tasks included. */
  async complete(
    chosen: readonly string[],
    result: CellResult = aCellResult(),
    generation = 0,
  ): Promise<void> {
    const { ledger } = this.engine;
    const queue = this.engine.queueOf(this.header.group);
    const deliveries = await queue.receive('lab', 2 * QUESTION_COUNT);
    await Promise.all(
      deliveries.map(async (delivery) => {
        const { id, config } = delivery.task;
        if (!chosen.includes(id)) return await queue.release(delivery, 0);
        await ledger.claimCell(this.keyOf(id, config), generation, OWNER);
        await ledger.completeCell(this.keyOf(id, config), OWNER, result, []);
        await queue.acknowledge(delivery);
      }),
    );
  }

  /** Lets the preparation do what it can, or a certain thing. */
  async passTime(isDone?: () => boolean): Promise<void> {
    const turnCount = isDone === undefined ? 20 : 10_000;
    for (let turn = 0; turn < turnCount && isDone?.() !== true; turn += 1) {
      await settledBy(Promise.withResolvers().promise);
      this.clock.advance(100);
    }
  }

  /** The published and prepared files other than the plan, which is there from the start, by their path. */
  files(): Readonly<Record<string, string>> {
    const folder = this.#folder.resolve('runs', this.header.group);
    if (!existsSync(folder)) return {};
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
      .filter((path) => path !== 'group.json');
    return Object.fromEntries(
      paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
    );
  }

  /** What publishing from the ledger alone writes. */
  async expectedFiles(earlyEnd?: 'paused'): Promise<Readonly<Record<string, string>>> {
    const { ledger, blobs, clock } = this.engine;
    const stores = { ledger, blobs, clock, userCode: inProcessPatterns };
    await finalizeGroup(
      { header: this.header, benchmark: this.benchmark, state: 'active' },
      stores,
      {
        earlyEnd,
      },
    );
    return this.files();
  }

  /** Does something on a connection of its own, as another process has it. */
  asOther(act: (database: DatabaseSync) => void): void {
    using database = new DatabaseSync(join(this.engine.folder, 'thrice.db'));
    act(database);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.engine[Symbol.dispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

describe('results that are prepared ahead', () => {
  it('are those that are written from the ledger, and show nothing before the end', async () => {
    await using work = await Work.plan();
    await using ahead = work.prepare();
    const [first = '', second = '', third = '', ...others] = ids;
    const discarded = aJournalEntry({ call: { discarded: 'content-filtered', costUsd: 0.5 } });

    await work.engine.ledger.commitCall(work.keyOf(first), discarded);
    await work.complete([second], aFailedResult());
    await work.complete([third], aCellResult({ outcome: 'unparsed', score: 0 }));
    await work.complete([first, ...others.slice(0, -1)]);
    await work.passTime();
    const shown = Object.keys(work.files()).filter((path) => !path.startsWith('.ahead'));
    await work.complete(ids);
    const summary = await ahead.publish(undefined);

    expect(shown).toEqual([]);
    expect(summary?.configs[0]?.replicates).toMatchObject([
      { unparsed: 1, failed: 1, wasteUsd: 0.5 },
    ]);
    const published = work.files();
    expect(published).toEqual(await work.expectedFiles());
    expect(Object.keys(published)).toHaveLength(7);
  });

  it('reads each row once its cell is final, and not again at the end', async () => {
    await using work = await Work.plan();
    await using ahead = work.prepare();
    const { ledger } = work.engine;
    const read: number[] = [];
    const readCells = ledger.readCells.bind(ledger);
    ledger.readCells = async (run, config, page) => {
      read.push(page.length);
      return await readCells(run, config, page);
    };

    await work.complete(ids.slice(1));
    await work.passTime();
    const beforeFirst = [...read];
    await work.complete(ids.slice(0, 1));
    await work.passTime(() => read.length === 2);
    const afterLast = [...read];
    await ahead.publish(undefined);

    expect([beforeFirst, afterLast]).toEqual([[], [limits.pageSize, 1]]);
    expect(read).toEqual(afterLast);
  });

  it('are prepared for configs side by side, which are worked on at the same time', async () => {
    await using work = await Work.plan(twoConfigs);
    await using ahead = work.prepare();

    const begun = () => Object.keys(work.files()).filter((path) => path.includes('/cells/'));

    await work.complete(ids.slice(0, limits.pageSize));
    await work.passTime(() => begun().length === 2);
    const begunCount = begun().length;
    await work.complete(ids);
    await ahead.publish(undefined);

    expect(begunCount).toBe(2);
    expect(work.files()).toEqual(await work.expectedFiles());
  });

  it('show the cells that are not done when the work ends early', async () => {
    await using work = await Work.plan();
    await using ahead = work.prepare();

    await work.complete(ids.slice(0, -1));
    await work.passTime();
    const summary = await ahead.publish('paused');

    expect(summary?.configs[0]?.replicates).toMatchObject([{ notAttempted: 1 }]);
    expect(work.files()).toEqual(await work.expectedFiles('paused'));
  });

  it('wait for a failed cell that is to be worked on again', async () => {
    await using work = await Work.plan();
    const queue = work.engine.queueOf(work.header.group);
    const [delivery] = await queue.receive('lab', 1);
    if (delivery === undefined) throw new Error('expected a task');
    await queue.release(delivery, 0);
    await work.complete(ids.slice(0, 1), aFailedResult());
    await work.complete(ids);
    await queue.send('lab', [{ ...delivery.task, generation: 1 }]);
    await using ahead = work.prepare();

    await work.passTime();
    await work.complete(ids.slice(0, 1), aCellResult(), 1);
    const summary = await ahead.publish(undefined);

    expect(summary?.configs[0]?.replicates).toMatchObject([{ scored: QUESTION_COUNT, failed: 0 }]);
    expect(work.files()).toEqual(await work.expectedFiles());
  });

  it('are given up when another process has written anything', async () => {
    await using work = await Work.plan();
    await using ahead = work.prepare();

    await work.complete(ids);
    await work.passTime();
    work.asOther((database) => database.exec("UPDATE cells SET outcome = 'failed'"));
    const summary = await ahead.publish(undefined);

    expect(summary).toBeUndefined();
    expect(Object.keys(work.files()).filter((path) => !path.startsWith('.ahead'))).toEqual([]);
  });

  it('are removed when they are abandoned', async () => {
    await using work = await Work.plan();
    await using ahead = work.prepare();
    await work.complete(ids.slice(0, -1));
    await work.passTime(() => Object.keys(work.files()).length === 3);
    const before = Object.keys(work.files());

    await ahead.abandon();

    expect(before.map((path) => path.split('/')[0])).toEqual(['.ahead', '.ahead', '.ahead']);
    expect(Object.keys(work.files())).toEqual([]);
    expect(await ahead.publish(undefined)).toBeUndefined();
  });

  it('replace what a killed process had prepared', async () => {
    await using work = await Work.plan();
    const left = join(work.engine.folder, 'runs', work.header.group, '.ahead', 'runs', 'left.tmp');
    await mkdir(dirname(left), { recursive: true });
    await writeFile(left, 'half a row');

    await using ahead = work.prepare();
    await work.complete(ids);
    await ahead.publish(undefined);

    expect(existsSync(left)).toBe(false);
    expect(Object.keys(work.files())).toHaveLength(7);
  });
});
