import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { type LaneWait, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { WorkerRegistry } from '../../../packages/local/src/store/worker-registry.ts';
import { aCellKey, aCellResult, aCellTask, anAttempt } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type LocalStores, openLocalStores } from '../../support/local-stores.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Starting processes can be slow on a busy machine. */
const PROCESS_TIMEOUT_MS = 60_000;
/** No task is held at this time. */
const NOW_MS = 0;

const packageUrl = pathToFileURL(
  resolve(import.meta.dirname, '../../../packages/local/src/index.ts'),
).href;

/** Starts another process that registers, receives two tasks and claims the cell of the first. */
class OtherWorker implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
  }

  static async start(folder: string): Promise<OtherWorker> {
    const script = `
      const { LocalEngine } = await import(${JSON.stringify(packageUrl)});
      const engine = new LocalEngine(${JSON.stringify(folder)});
      await engine.workers.register('demo');
      const [first] = await engine.queueOf('demo').receive('lab', 2);
      const { run, id, config, generation } = first.task;
      await engine.ledger.claimCell({ run, id, config }, generation, engine.workers.owner);
      process.stdout.write('ready');
      process.stdin.resume();`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
    const failed = once(child, 'close').then(() => Promise.reject(new Error('the worker died')));
    await Promise.race([once(child.stdout, 'data'), failed]);
    failed.catch(() => undefined);
    return new OtherWorker(child);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

async function openShared(folder: string): Promise<LocalStores> {
  const stores = openLocalStores(`${folder}/thrice.db`, new FakeClock('2026-01-01T00:00:00.000Z'));
  await stores
    .queueOf('nobody')
    .send('lab', [aCellTask({ id: 'claimed' }), aCellTask({ id: 'received' })]);
  return stores;
}

/** Inserts a worker's row as another process would have. */
function enter(
  database: DatabaseSync,
  worker: {
    readonly owner: string;
    readonly host?: string;
    readonly pid?: number;
    readonly started?: string;
    readonly waits?: readonly LaneWait[];
  },
): void {
  const [own] = database.prepare('SELECT host, pid_started FROM workers').all();
  const host = worker.host ?? String(own?.['host']);
  const started = worker.started ?? String(own?.['pid_started']);
  database
    .prepare('INSERT INTO workers VALUES (?, ?, ?, ?, ?, ?)')
    .run(
      worker.owner,
      host,
      worker.pid ?? process.pid,
      started,
      'demo',
      JSON.stringify(worker.waits ?? []),
    );
}

function ownersOf(database: DatabaseSync): unknown[] {
  return database
    .prepare('SELECT owner FROM workers ORDER BY owner')
    .all()
    .map(({ owner }) => owner);
}

describe('WorkerRegistry', () => {
  it(
    'takes over the tasks and cells of a killed process',
    async () => {
      await using folder = await temporaryFolder();
      using stores = await openShared(folder.path);
      const registry = new WorkerRegistry(stores.database, stores.commit);
      await registry.register('demo');
      await using dead = await OtherWorker.start(folder.path);
      const whileAlive = registry.hasDeadWorker('demo');
      await dead.kill();
      const onceDead = ['demo', 'other'].map((group) => registry.hasDeadWorker(group));

      const freed = await registry.takeOver();

      expect(whileAlive).toBe(false);
      expect(onceDead).toEqual([true, false]);
      expect(registry.hasDeadWorker('demo')).toBe(false);
      expect(freed).toMatchObject([{ cells: [aCellKey({ id: 'claimed' })] }]);
      expect(ownersOf(stores.database)).toEqual([registry.owner]);
      const received = await stores.queueOf(registry.owner).receive('lab', 5);
      expect(received.map(({ task }) => task.id)).toEqual(['claimed', 'received']);
      const claim = await stores.ledger.claimCell(aCellKey({ id: 'claimed' }), 0, registry.owner);
      expect(claim).toMatchObject({ kind: 'claimed', isFirst: false });
    },
    PROCESS_TIMEOUT_MS,
  );

  it(
    'does not take anything from a living process',
    async () => {
      await using folder = await temporaryFolder();
      using stores = await openShared(folder.path);
      const registry = new WorkerRegistry(stores.database, stores.commit);
      await registry.register('demo');
      await using _living = await OtherWorker.start(folder.path);

      const freed = await registry.takeOver();

      expect(freed).toEqual([]);
      expect(registry.countOthers('demo', NOW_MS)).toBe(1);
      expect(await stores.queueOf(registry.owner).receive('lab', 5)).toEqual([]);
      const claim = await stores.ledger.claimCell(aCellKey({ id: 'claimed' }), 0, registry.owner);
      expect(claim).toEqual({ kind: 'held' });
    },
    PROCESS_TIMEOUT_MS,
  );

  it(
    'sees whether another process is at work, suspended or dead',
    async () => {
      await using folder = await temporaryFolder();
      using stores = await openShared(folder.path);
      await using other = await OtherWorker.start(folder.path);
      const owner = String(ownersOf(stores.database)[0]);
      const { workers } = stores;

      const before = workers.isAtWork(owner);
      other.signal('SIGSTOP');
      await waitUntil('it is suspended', () => !workers.isAtWork(owner));
      other.signal('SIGCONT');
      await waitUntil('it continues', () => workers.isAtWork(owner));
      await other.kill();

      expect(before).toBe(true);
      expect(workers.isAtWork(owner)).toBe(false);
      expect(workers.isAtWork('nobody')).toBe(false);
    },
    PROCESS_TIMEOUT_MS,
  );

  it('takes over from a process whose pid was reused', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const registry = new WorkerRegistry(stores.database, stores.commit);
    await registry.register('demo');
    enter(stores.database, { owner: 'dead', started: '1' });

    await registry.takeOver();

    expect(ownersOf(stores.database)).toEqual([registry.owner]);
  });

  it("does not take over from another host's workers", async () => {
    const clock = new FakeClock();
    using stores = openLocalStores(':memory:', clock);
    const registry = new WorkerRegistry(stores.database, stores.commit);
    await registry.register('demo');
    // A pid of another host means nothing here. No local process can have this one.
    enter(stores.database, { owner: 'foreign', host: 'elsewhere pid:[1]', pid: 2 ** 30 });
    await stores.queueOf('foreign').send('lab', [aCellTask()]);
    await stores.queueOf('foreign').receive('lab', 1);
    await stores.ledger.claimCell(aCellKey(), 0, 'foreign');

    const freed = await registry.takeOver();

    expect(freed).toEqual([]);
    expect(ownersOf(stores.database)).toContain('foreign');
    expect(await stores.ledger.claimCell(aCellKey(), 0, registry.owner)).toEqual({ kind: 'held' });
    clock.advance(limits.leaseMs);
    expect(await stores.queueOf(registry.owner).receive('lab', 1)).toHaveLength(1);
  });

  it('takes over from a zombie process', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const registry = new WorkerRegistry(stores.database, stores.commit);
    await registry.register('demo');
    // The parent never waits for its child, so the child stays a zombie.
    const stuck = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
    const starting = `console.log(require('node:child_process').spawn('true').pid)`;
    const parent = spawn(process.execPath, ['-e', `${starting}; ${stuck}`]);
    const [output] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(output.toString('utf8'));
    await untilZombie(pid);
    enter(stores.database, { owner: 'zombie', pid, started: startOf(pid) });

    await registry.takeOver();
    parent.kill('SIGKILL');

    expect(ownersOf(stores.database)).toEqual([registry.owner]);
  });

  it('frees everything it still holds when it unregisters', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const registry = new WorkerRegistry(stores.database, stores.commit);
    const queue = stores.queueOf(registry.owner);
    await registry.register('demo');
    await queue.send('lab', [aCellTask()]);
    await queue.receive('lab', 1);
    await stores.ledger.claimCell(aCellKey(), 0, registry.owner);

    await registry.unregister();

    expect(ownersOf(stores.database)).toEqual([]);
    expect(await stores.queueOf('bob').receive('lab', 1)).toHaveLength(1);
    const claim = await stores.ledger.claimCell(aCellKey(), 0, 'bob');
    expect(claim).toMatchObject({ kind: 'claimed', isFirst: false });
  });

  it('keeps the results and attempts of a dead worker', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const registry = new WorkerRegistry(stores.database, stores.commit);
    await registry.register('demo');
    enter(stores.database, { owner: 'dead', started: '1' });
    const queue = stores.queueOf('dead');
    await queue.send(
      'lab',
      ['done', 'tried'].map((id) => aCellTask({ id })),
    );
    await queue.receive('lab', 2);
    await stores.ledger.claimCell(aCellKey({ id: 'done' }), 0, 'dead');
    await stores.ledger.completeCell(aCellKey({ id: 'done' }), 'dead', aCellResult(), []);
    await stores.ledger.claimCell(aCellKey({ id: 'tried' }), 0, 'dead');
    await stores.ledger.releaseCell(aCellKey({ id: 'tried' }), 'dead', [anAttempt()], 1);
    await stores.ledger.claimCell(aCellKey({ id: 'tried' }), 0, 'dead');

    await registry.takeOver();

    const cells = await stores.ledger.readCells('demo-r1', 'direct', ['done', 'tried']);
    expect(cells.get('done')).toMatchObject({ state: 'done', result: aCellResult() });
    expect(cells.get('tried')).toMatchObject({
      state: 'released',
      attempts: 1,
      attemptLog: [anAttempt()],
    });
  });

  it('counts only the other workers of a group', async () => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const registry = new WorkerRegistry(stores.database, stores.commit);
    await registry.register('demo');
    enter(stores.database, { owner: 'second' });

    expect(registry.countOthers('demo', NOW_MS)).toBe(1);
    expect(registry.countOthers('other', NOW_MS)).toBe(0);
  });

  it('counts a worker of another host only while it holds a task', async () => {
    const clock = new FakeClock();
    using stores = openLocalStores(':memory:', clock);
    const registry = new WorkerRegistry(stores.database, stores.commit);
    await registry.register('demo');
    enter(stores.database, { owner: 'far', host: 'elsewhere' });
    const queue = stores.queueOf('far');
    await queue.send('lab', [aCellTask()]);

    const idle = registry.countOthers('demo', clock.now());
    await queue.receive('lab', 1);
    const working = registry.countOthers('demo', clock.now());
    clock.advance(limits.leaseMs);
    const lapsed = registry.countOthers('demo', clock.now());

    expect([idle, working, lapsed]).toEqual([0, 1, 0]);
  });

  it('gives each worker a unique name', () => {
    using stores = openLocalStores(':memory:', new FakeClock());

    const owners = [1, 2, 3].map(() => new WorkerRegistry(stores.database, stores.commit).owner);

    expect(new Set(owners).size).toBe(3);
  });
});

function statOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function startOf(pid: number): string {
  return statOf(pid)[19] ?? '';
}

/** Waits a few turns of the event loop, each with a system call, for the child to exit. */
async function untilZombie(pid: number): Promise<void> {
  for (let turn = 0; turn < 100_000 && statOf(pid)[0] !== 'Z'; turn += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}

describe('the waits of the processes of a group', () => {
  it('are those of living processes', async () => {
    await using folder = await temporaryFolder();
    using stores = await openShared(folder.path);
    const registry = new WorkerRegistry(stores.database, stores.commit);
    await registry.register('demo');
    const waitFor = (breakerKey: string) => [
      { breakerKey, until: '2026-01-02T03:05:05.000Z', reason: '429' },
    ];
    enter(stores.database, { owner: 'living', waits: waitFor('a') });
    enter(stores.database, { owner: 'dead', started: '1', waits: waitFor('b') });

    expect(registry.waitsOfOthers('demo')).toEqual(waitFor('a'));
    expect(registry.waitsOfOthers('other')).toEqual([]);
  });
});
