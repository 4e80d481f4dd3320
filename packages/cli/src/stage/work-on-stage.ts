import { randomUUID } from 'node:crypto';
import {
  answerTask,
  type Delivery,
  LaneHealth,
  RecentGroups,
  SharedGovernor,
  type TaskSettlement,
  ThriceError,
  toThriceError,
  type WorkerEvent,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { ModelClients } from '@thrice/models';
import { openModels } from '../local/compose-local.ts';
import { lanesWithoutKey } from '../local/lanes-without-key.ts';
import { describeFailure } from '../render/failure-text.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { listenForStop } from '../shell/stop-signals.ts';
import type { Terminal } from '../shell/terminal.ts';
import type { CloudEngine } from './compose-cloud.ts';
import { openStageEngine } from './stage-engine.ts';
import { refuseUnknownLanes } from './stage-lanes.ts';
import { workOnLane } from './work-on-lane.ts';

/** Cells at work at most, as `parallel` of a spec is without a value. */
const PARALLEL = 64;
/** Interval between two lines about what was done, ms. */
const PROGRESS_MS = 60_000;

/**
 * `thrice work --stage S --lane L`: answers the tasks of one lane of a stage on this machine, until it is stopped. For lanes
 * that the functions of the stage cannot work on: a model server in a network of its own, or a key that only this machine has.
 */
export async function workOnStage(
  terminal: Terminal,
  { stage, lane }: { readonly stage: string; readonly lane: string },
): Promise<ExitCode> {
  using engine = await openStageEngine(stage);
  refuseUnknownLanes([lane], engine.stage);
  using signals = listenForStop();
  await using models = openModels(terminal);
  const progress = new LaneProgress(lane, terminal);
  terminal.error(`working on lane ${lane} of stage ${stage}; press Ctrl-C to stop`);
  const onDrain = () =>
    terminal.error('finishing the cells at work; press Ctrl-C again to stop now');
  signals.drain.addEventListener('abort', onDrain, { once: true });
  const reporting = progress.reportUntil(signals.drain, engine);
  const host = openHost({ engine, terminal, models, progress, stop: signals.stop });
  try {
    await workOnLane({
      lane,
      queue: engine.queue,
      parallel: PARALLEL,
      answer: host,
      clock: engine.clock,
      random: Math.random,
      report: progress.fail,
      drainSignal: signals.drain,
    });
  } finally {
    progress.end();
    await reporting;
  }
  return exitCodes.interrupted;
}

/** Answers the tasks of a stage with the keys of this machine. */
function openHost({
  engine,
  terminal,
  models,
  progress,
  stop,
}: {
  readonly engine: CloudEngine;
  readonly terminal: Terminal;
  readonly models: ModelClients;
  readonly progress: LaneProgress;
  readonly stop: AbortSignal;
}): (delivery: Delivery) => Promise<TaskSettlement> {
  const { clock, ledger, lanePaces: paces, laneSlots: slots } = engine;
  const random = Math.random;
  const governor = new SharedGovernor({ paces, slots, clock, random, createToken: randomUUID });
  const recentGroups = new RecentGroups({ clock, governor });
  const host = {
    ...engine,
    governor,
    recentGroups,
    laneHealth: new LaneHealth({ clock, random }),
    clientFor: models.clientFor,
    createDigest: createNodeDigest,
    random,
    createOwner: randomUUID,
    untilStopped: (workEnded: AbortSignal) => firstAbort([stop, workEnded]),
    stopReason: 'stopped by the user',
    onHeartbeatFailure: progress.fail,
    observe: progress.observe,
  };
  return async (delivery) => {
    const group = await recentGroups.read(delivery.task, ledger);
    const config = group?.benchmark.configs.find(({ name }) => name === delivery.task.config);
    const missing =
      group !== undefined && config !== undefined
        ? lanesWithoutKey(config, group.benchmark, terminal)
        : [];
    for (const { name, apiKeyEnv } of missing) throw missingKey(name, apiKeyEnv);
    // Whether it was received before is not known.
    return await answerTask(delivery, true, host);
  };
}

async function firstAbort(signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals]);
  if (any.aborted) return;
  await new Promise<void>((resolve) => {
    any.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** The first call without a key would block the lane for the whole stage. */
function missingKey(lane: string, apiKeyEnv: string | undefined): ThriceError {
  return new ThriceError({
    code: 'missing-key',
    message: `lane ${lane}: expected its key in ${apiKeyEnv ?? ''}, which is not set; set it where this command starts, then start it again`,
  });
}

/** What was done on a lane, in lines: every minute, at the end, and each kind of failure once in that time. */
class LaneProgress {
  readonly #lane: string;
  readonly #terminal: Terminal;
  readonly #ended = new AbortController();
  readonly #told = new Set<string>();
  #doneCount = 0;
  #failedCount = 0;
  #toldCount = 0;

  constructor(lane: string, terminal: Terminal) {
    this.#lane = lane;
    this.#terminal = terminal;
  }

  readonly observe = (event: WorkerEvent): void => {
    if (event.kind === 'cell-completed') {
      this.#doneCount += 1;
      if (event.result.outcome === 'failed') this.#failedCount += 1;
    }
    if (event.kind === 'call-failed') this.fail(event.error);
  };

  readonly fail = (thrown: unknown): void => {
    const error = toThriceError(thrown);
    if (this.#told.has(error.code)) return;
    this.#told.add(error.code);
    for (const line of describeFailure(error)) this.#terminal.error(`${this.#lane}: ${line}`);
  };

  /** Reports every minute until it is ended. */
  async reportUntil(signal: AbortSignal, { clock }: Pick<CloudEngine, 'clock'>): Promise<void> {
    const ended = AbortSignal.any([signal, this.#ended.signal]);
    while (!ended.aborted) {
      await clock.sleep(PROGRESS_MS, ended);
      if (this.#doneCount > this.#toldCount) this.#report();
      this.#told.clear();
    }
  }

  end(): void {
    this.#ended.abort();
    this.#report();
  }

  #report(): void {
    this.#toldCount = this.#doneCount;
    const failed = this.#failedCount === 0 ? '' : `, ${this.#failedCount} of them failed`;
    this.#terminal.error(`${this.#lane}: ${this.#doneCount} cells completed${failed}`);
  }
}
