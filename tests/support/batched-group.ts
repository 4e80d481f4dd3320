import {
  type BatchClient,
  type BatchClientFor,
  type Benchmark,
  enqueueGroup,
  finalizeGroup,
  type GroupHeader,
  type Summary,
  storePlan,
  type ThriceError,
} from '@thrice/core';
import { type Ending, LocalEngine, workGroup } from '@thrice/local';
import { openBatchClients, openModelClients, openTransport } from '@thrice/models';
import { type Faults, type Simulator, startSimulator } from '@thrice/simulator';
import type { WorkGroupOptions } from '../../packages/local/src/work/work-group-options.ts';
import { type Addition, additions, toJsonl } from './additions.ts';
import { aBenchmark, aConfig, aLane } from './builders.ts';
import { FakeClock } from './fake-clock.ts';
import { inProcessPatterns } from './in-process-patterns.ts';
import { aPlanIn, workGroupOptions } from './local-work.ts';
import { type Death, MortalEngine } from './mortal-engine.ts';
import { SetClock } from './set-clock.ts';
import { settledBy } from './settled-by.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

/** What a process does to its stores and to the vendor while it works on cells in batches, other than to read. */
export const batchSteps: ReadonlySet<string> = new Set([
  'enter',
  'releaseCell',
  'replace',
  'submit',
  'find',
  'poll',
  'results',
  'commitCall',
  'endCalls',
  'wake',
  'removeCalls',
  'remove',
]);

/** Longest jump of the clock, ms. */
const MAX_ADVANCE_MS = 1_000;

/** How a process on the group has ended. */
export type ProcessEnd = Ending | 'died';

/** A group whose calls go through the batches of a simulated vendor, all in simulated time. */
export class BatchedGroup implements AsyncDisposable {
  readonly header: GroupHeader;
  readonly engine: LocalEngine;
  readonly clock: FakeClock;
  /** The clock of the machine that works on it, which its vendor does not share. */
  readonly machineClock: SetClock;
  /** Batches that have reached the vendor. */
  submittedCount = 0;
  readonly #simulator: Simulator;
  readonly #folder: TemporaryFolder;
  readonly benchmark: Benchmark;
  /** What the vendor answers to the next submissions in place of accepting them. */
  readonly refusals: ThriceError[] = [];
  /** Requests to the vendor that have not ended: the time stands still meanwhile. */
  #openCount = 0;

  private constructor(init: {
    readonly header: GroupHeader;
    readonly engine: LocalEngine;
    readonly clock: FakeClock;
    readonly machineClock: SetClock;
    readonly simulator: Simulator;
    readonly folder: TemporaryFolder;
    readonly benchmark: Benchmark;
  }) {
    this.machineClock = init.machineClock;
    this.header = init.header;
    this.engine = init.engine;
    this.clock = init.clock;
    this.#simulator = init.simulator;
    this.#folder = init.folder;
    this.benchmark = init.benchmark;
  }

  /** Plans a group of additions. */
  static async open({
    cellCount,
    batches,
    lane = {},
    latencyMs,
    benchmark: partsOf = () => ({}),
  }: {
    readonly cellCount: number;
    readonly batches: NonNullable<Faults['batches']>;
    readonly lane?: Parameters<typeof aLane>[0];
    /** Of a live call, or a response in the background. @default none */
    readonly latencyMs?: { readonly median: number; readonly p99: number };
    /** @param url - Of the vendor. */
    readonly benchmark?: (url: string) => Partial<Benchmark>;
  }): Promise<BatchedGroup> {
    const clock = new FakeClock();
    const machineClock = new SetClock(clock);
    const questions: readonly Addition[] = additions(cellCount);
    const simulator = await startSimulator({
      behaviour: { seed: 1, models: { m: { accuracy: 1, ...(latencyMs && { latencyMs }) } } },
      faults: { seed: 1, faults: [], batches },
      questions,
      clock,
    });
    const { protocol = 'chat' } = lane;
    const batch = { otherwise: 'batch' } as const;
    const benchmark = aBenchmark({
      lanes: new Map([['lab', aLane({ endpoints: [simulator.url], batch, ...lane, protocol })]]),
      configs: [aConfig()],
      prices: new Map([['lab/m', { input: 1_000, output: 2_000, batch: 0.5 }]]),
      ...partsOf(simulator.url),
    });
    const folder = await temporaryFolder({ 'q.jsonl': toJsonl(questions) });
    const engine = new LocalEngine(folder.path, machineClock);
    const header = await storePlan(await aPlanIn(folder, { benchmark, clock }), engine);
    const queue = engine.queueOf(header.group);
    const { ledger, blobs, responseCache } = engine;
    await enqueueGroup(header, benchmark, { ledger, blobs, responseCache, queue });
    const clocks = { clock, machineClock };
    return new BatchedGroup({ header, engine, ...clocks, simulator, folder, benchmark });
  }

  /** What the vendor has billed. */
  get billed() {
    return this.#simulator.stats().billed;
  }

  /** What the vendor would have billed for live calls, USD. */
  get livePriceUsd(): number {
    const { inputTokens, outputTokens } = this.billed;
    return (1_000 * inputTokens + 2_000 * outputTokens) / 1_000_000;
  }

  /** Has a process work on the group until it ends or dies. */
  async work(death?: Death, parts: Partial<WorkGroupOptions> = {}): Promise<ProcessEnd> {
    const { machineClock: clock } = this;
    const real = new LocalEngine(this.#folder.path, clock);
    const mortal = new MortalEngine(real, death);
    const init = { keyOf: () => undefined, clock, transport: openTransport({ environment: {} }) };
    await using models = openModelClients(init);
    const batchClients = openBatchClients(init);
    const batchClientFor: BatchClientFor = (lane) => mortal.guard(this.#watch(batchClients(lane)));
    const ending = workGroup(
      workGroupOptions({
        engine: mortal.engine,
        header: this.header,
        benchmark: this.benchmark,
        clientFor: models.clientFor,
        batchClientFor,
        ...parts,
      }),
    );
    const end = Promise.race([ending, mortal.died.then(() => 'died' as const)]);
    await this.#passTime(end, real);
    // What it has sent reaches the vendor all the same.
    while (this.#openCount > 0) await new Promise(setImmediate);
    real[Symbol.dispose]();
    return await end;
  }

  /** Writes the results. */
  async finalize(): Promise<Summary> {
    const { ledger, blobs, budgets } = this.engine;
    const stores = { ledger, blobs, budgets, clock: this.clock, userCode: inProcessPatterns };
    return await finalizeGroup(
      { header: this.header, benchmark: this.benchmark, state: 'active' },
      stores,
      { earlyEnd: undefined },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.engine[Symbol.dispose]();
    await this.#simulator.close();
    await this.#folder[Symbol.asyncDispose]();
  }

  #watch(client: BatchClient): BatchClient {
    const watched = async <Result>(request: Promise<Result>): Promise<Result> => {
      this.#openCount += 1;
      return await request.finally(() => {
        this.#openCount -= 1;
      });
    };
    return {
      limits: client.limits,
      submit: async (...init) => {
        const refusal = this.refusals.shift();
        if (refusal !== undefined) throw refusal;
        this.submittedCount += 1;
        return await watched(client.submit(...init));
      },
      poll: async (...init) => await watched(client.poll(...init)),
      cancel: async (...init) => await watched(client.cancel(...init)),
      find: async (...init) => await watched(client.find(...init)),
      results: async function* (...init) {
        const results = client.results(...init)[Symbol.asyncIterator]();
        for (;;) {
          const next = await watched(results.next());
          if (next.done === true) return;
          yield next.value;
        }
      },
    };
  }

  /** Advances the clock whenever the process has nothing else to do. */
  async #passTime(end: Promise<unknown>, real: LocalEngine): Promise<void> {
    while (!(await settledBy(end))) {
      // Sending nothing commits what the process has written so far.
      await real.queueOf('none').send('lab', []);
      if (this.#openCount > 0) await new Promise(setImmediate);
      else this.clock.advance(Math.min(this.clock.nextDueInMs ?? 0, MAX_ADVANCE_MS));
    }
  }
}
