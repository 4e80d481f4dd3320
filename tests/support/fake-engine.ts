import {
  type Benchmark,
  type CellTask,
  checkQuestions,
  type Delivery,
  executeCell,
  findConfig,
  type GroupCode,
  type GroupDraft,
  type GroupHeader,
  Heartbeat,
  LaneHealth,
  type OpenBreaker,
  openQuestions,
  type Question,
  type Random,
  type Select,
  type Settlement,
  type SolverRegistry,
  type UserCode,
  type WorkerEvent,
} from '@thrice/core';
import type { Worker } from '../../packages/core/src/cells/worker.ts';
import { aBenchmark, aGroupHeader, aModelResponse, aQuestion } from './builders.ts';
import { FakeBatches } from './fake-batches.ts';
import { FakeBlobStore } from './fake-blob-store.ts';
import { FakeGovernor } from './fake-governor.ts';
import { FakeLedger } from './fake-ledger.ts';
import { type FakeAnswer, FakeModelClient } from './fake-model-client.ts';
import type { FakeResponseCache } from './fake-response-cache.ts';
import { createTestDigest, FakeSourceReader } from './fake-source-reader.ts';
import { FakeTaskQueue } from './fake-task-queue.ts';
import { inProcessPatterns } from './in-process-patterns.ts';
import { PassingClock } from './passing-clock.ts';
import { planGroup } from './plan-group.ts';

/** In-memory stores, models and clock, and a worker without randomness. */
export class FakeEngine {
  readonly clock: PassingClock;
  readonly ledger: FakeLedger;
  readonly responseCache: FakeResponseCache;
  readonly batches = new FakeBatches();
  readonly blobs: FakeBlobStore;
  readonly queue: FakeTaskQueue;
  readonly governor = new FakeGovernor();
  readonly models: FakeModelClient;
  readonly benchmark: Benchmark;
  readonly heartbeat: Heartbeat;
  readonly events: WorkerEvent[] = [];
  readonly worker: Worker;
  readonly userCode: UserCode & GroupCode;
  readonly createDigest = createTestDigest;
  /** The open breakers the worker knows about. */
  readonly openBreakers = new Map<string, OpenBreaker>();
  readonly #random: Random;

  /** @param init.random - Provides the suffixes of group names. @default 0000, 0001 and so on */
  constructor(
    init: {
      readonly benchmark?: Benchmark;
      readonly answer?: FakeAnswer;
      readonly random?: Random;
      readonly solvers?: SolverRegistry;
      readonly userCode?: UserCode & GroupCode;
      /** The stores that it works on. @default empty ones */
      readonly stores?: Pick<FakeEngine, 'clock' | 'ledger' | 'blobs'>;
      /** Where its tasks are. @default an empty queue */
      readonly queue?: FakeTaskQueue;
    } = {},
  ) {
    this.clock = init.stores?.clock ?? new PassingClock();
    this.ledger = init.stores?.ledger ?? new FakeLedger(this.clock);
    this.responseCache = this.ledger.responseCache;
    this.blobs = init.stores?.blobs ?? new FakeBlobStore();
    this.queue = init.queue ?? new FakeTaskQueue(this.clock);
    this.#random = init.random ?? countingUp();
    this.benchmark = init.benchmark ?? aBenchmark();
    this.userCode = init.userCode ?? inProcessPatterns;
    this.models = new FakeModelClient(init.answer ?? (() => aModelResponse()));
    const { ledger, queue, clock } = this;
    this.heartbeat = new Heartbeat({ ledger, queue, clock, owner: 'worker-1' });
    this.worker = {
      owner: 'worker-1',
      benchmark: this.benchmark,
      ledger,
      responseCache: this.responseCache,
      blobs: this.blobs,
      sendTask: (lane, task) => queue.send(lane, [task]),
      batches: this.batches,
      clientFor: () => this.models,
      governor: this.governor,
      heartbeat: this.heartbeat,
      laneHealth: new LaneHealth({ clock, random: () => 0 }),
      clock,
      createDigest: createTestDigest,
      random: () => 0,
      observe: (event) => {
        // One per call, which the fake model client counts.
        if (event.kind !== 'server-responded') this.events.push(event);
        if (event.kind === 'breaker-opened')
          this.openBreakers.set(event.breaker.breakerKey, event.breaker);
      },
      openBreakers: this.openBreakers,
      solvers: init.solvers,
      userCode: this.userCode,
    };
  }

  /** Sends the task of a question and receives it again. */
  async deliver(question: Question = aQuestion(), task: Partial<CellTask> = {}): Promise<Delivery> {
    const key = `questions/${question.id}.jsonl`;
    const line = JSON.stringify(question);
    await this.blobs.write(key, [`${line}\n`]);
    const config = task.config ?? 'direct';
    const lane = findConfig(this.benchmark, config)?.lane ?? 'lab';
    await this.queue.send(lane, [
      {
        v: 1,
        run: 'demo-r1',
        id: question.id,
        config,
        question: { key, offset: 0, length: Buffer.byteLength(line) },
        generation: 0,
        ...task,
      },
    ]);
    const [delivery] = (await this.queue.receive(lane, 1_000)).slice(-1);
    if (delivery === undefined) throw new Error('expected the task that was sent');
    return delivery;
  }

  /** Executes a delivery's cell, then acknowledges or releases the delivery. */
  async work(delivery: Delivery): Promise<Settlement> {
    const settlement = await executeCell(delivery, this.worker);
    if (settlement.kind === 'acknowledge') await this.queue.acknowledge(delivery);
    else await this.queue.release(delivery, settlement.delayMs);
    return settlement;
  }

  /**
   * Works on everything in the queue, advancing the clock as needed, until no tasks are left or a
   * breaker is open.
   *
   * @param maxRounds - Stops after this many rounds.
   */
  async workAll(maxRounds = 100): Promise<void> {
    for (let round = 0; round < maxRounds && this.queue.leftCount > 0; round += 1) {
      for (const lane of this.benchmark.lanes.keys()) {
        for (const delivery of await this.queue.receive(lane, 10_000)) await this.work(delivery);
      }
      if (this.openBreakers.size > 0) return;
      this.clock.advance(60_000);
    }
  }

  /** Plans a group of questions with this engine's benchmark. */
  async plan(
    questions: readonly Question[] = [aQuestion()],
    init: {
      readonly draft?: Partial<GroupDraft>;
      readonly select?: Select;
      readonly skipped?: ReadonlyMap<string, string>;
    } = {},
  ): Promise<GroupHeader> {
    const text = questions.map((question) => `${JSON.stringify(question)}\n`).join('');
    const reader = new FakeSourceReader({ '/q.jsonl': text });
    const source = openQuestions('/q.jsonl', (path) => path, reader);
    const { ledger, blobs, queue, clock, benchmark } = this;
    const checked = await checkQuestions(source, init.select, benchmark.configs, createTestDigest);
    const { skipped = new Map<string, string>() } = init;
    return await planGroup(
      { benchmark, draft: aDraft(init), source, checked, skipped, clock, random: this.#random },
      { ledger, responseCache: this.responseCache, blobs, queueOf: () => queue },
    );
  }
}

function countingUp(): Random {
  let count = -1;
  return () => {
    count += 1;
    return count / 0x10000;
  };
}

/** A draft to plan a group from. */
export function aDraft(
  init: { readonly draft?: Partial<GroupDraft>; readonly select?: Select } = {},
): GroupDraft {
  const {
    schemaVersion: _version,
    group: _group,
    createdAt: _createdAt,
    runs: _runs,
    questions: _questions,
    configs: _configs,
    ...draft
  } = aGroupHeader();
  const { select } = init;
  const spec = select === undefined ? draft.spec : { ...draft.spec, select };
  return { ...draft, spec, ...init.draft };
}
