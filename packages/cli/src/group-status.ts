import type { Closure, GroupHeader, GroupRecord, Tally } from '@thrice/core';
import type { LocalEngine } from '@thrice/local';

/** Where one config of a group stands, over all of its runs. */
export interface ConfigStatus {
  readonly config: string;
  readonly cells: number;
  readonly scored: number;
  readonly unparsed: number;
  readonly ungraded: number;
  readonly failed: number;
  readonly notAttempted: number;
  readonly correct: number;
  /** Sum of the known costs, USD; null without a price. */
  readonly costUsd: number | null;
  readonly retries: number;
}

/** Where a group stands. */
export interface GroupStatus {
  readonly group: string;
  readonly createdAt: string;
  readonly state: 'planning' | 'running' | 'paused' | 'cancelled' | 'complete' | 'incomplete';
  readonly cells: number;
  /** Cells with a result, whatever its outcome. */
  readonly done: number;
  readonly workers: number;
  readonly configs: readonly ConfigStatus[];
  /** Tasks left in the queue, by lane. */
  readonly lanes: readonly { readonly lane: string; readonly left: number }[];
  readonly closures: readonly Closure[];
}

/** Counts where a group stands, from its tallies and its queue. */
export async function describeStatus(
  { header, state, isPlanned }: GroupRecord,
  engine: LocalEngine,
): Promise<GroupStatus> {
  const configs = await countConfigs(header, engine);
  const backlog = await engine.queueOf(header.group).readBacklog();
  const lanes = [...new Set(backlog.map(({ lane }) => lane))].map((lane) => ({
    lane,
    left: sum(backlog.filter((entry) => entry.lane === lane).map(({ count }) => count)),
  }));
  const ownLanes = new Set(header.spec.configs.map(({ model }) => model.split('/')[0]));
  const closures = (await engine.ledger.listClosures()).filter(({ subject }) =>
    ownLanes.has(subject.split('/')[0]),
  );
  const cells = sum(configs.map((config) => config.cells));
  const done = cells - sum(configs.map(({ notAttempted }) => notAttempted));
  const workers = engine.workers.countOthers(header.group);
  const isLeft = sum(lanes.map(({ left }) => left)) > 0;
  return {
    group: header.group,
    createdAt: header.createdAt,
    state: nameState({ state, isPlanned, workers, isLeft, isWhole: configs.every(hasAllVerdicts) }),
    cells,
    done,
    workers,
    configs,
    lanes,
    closures,
  };
}

function nameState({
  state,
  isPlanned,
  workers,
  isLeft,
  isWhole,
}: {
  readonly state: GroupRecord['state'];
  readonly isPlanned: boolean;
  readonly workers: number;
  readonly isLeft: boolean;
  readonly isWhole: boolean;
}): GroupStatus['state'] {
  if (state === 'cancelled') return 'cancelled';
  if (!isPlanned) return 'planning';
  if (workers > 0) return 'running';
  if (isLeft) return 'paused';
  return isWhole ? 'complete' : 'incomplete';
}

function hasAllVerdicts({ cells, scored, unparsed }: ConfigStatus): boolean {
  return scored + unparsed === cells;
}

/** Counts where each config of a group stands, from its tallies. */
export async function countConfigs(
  header: GroupHeader,
  engine: LocalEngine,
): Promise<readonly ConfigStatus[]> {
  const byRun = await Promise.all(header.runs.map((run) => engine.ledger.readTallies(run)));
  const priced = new Set(Object.keys(header.spec.prices));
  return header.configs.map(({ config, cells }) => {
    const model = header.spec.configs.find(({ name }) => name === config)?.model ?? '';
    const tallies = byRun.flat().filter((tally) => tally.config === config);
    const counted = describeConfig(config, cells * header.runs.length, tallies);
    return priced.has(model) ? counted : { ...counted, costUsd: null };
  });
}

function describeConfig(config: string, cells: number, tallies: readonly Tally[]): ConfigStatus {
  const total = (pick: (tally: Tally) => number) => sum(tallies.map(pick));
  const counts = {
    scored: total((tally) => tally.counts.scored),
    unparsed: total((tally) => tally.counts.unparsed),
    ungraded: total((tally) => tally.counts.ungraded),
    failed: total((tally) => tally.counts.failed),
  };
  return {
    config,
    cells,
    ...counts,
    notAttempted: cells - sum(Object.values(counts)),
    correct: total((tally) => tally.correct),
    costUsd: total((tally) => tally.costUsd),
    retries: total((tally) => tally.retries),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
