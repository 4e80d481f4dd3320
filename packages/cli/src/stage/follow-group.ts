import {
  type GroupHeader,
  groupKey,
  renderSummary,
  type Summary,
  summarySchema,
  ThriceError,
} from '@thrice/core';
import { countSummary } from '../engine/count-summary.ts';
import { describeStatus, type GroupStatus } from '../engine/group-status.ts';
import { describeOpenBreaker, describePause } from '../render/breaker-text.ts';
import { Progress } from '../render/progress.ts';
import { reportUnscored } from '../render/report-unscored.ts';
import { type ExitCode, exitCodes } from '../shell/exit-codes.ts';
import { plainText, type Terminal } from '../shell/terminal.ts';
import type { StageEngine } from './stage-engine.ts';

/** How often a stage is asked how far a group is, ms. */
const LOOK_MS = 2_000;

/** What {@link followGroup} needs. */
export interface FollowOrder {
  readonly terminal: Terminal;
  readonly engine: StageEngine;
  readonly header: GroupHeader;
  readonly isJson: boolean;
  /** Aborts to leave; the stage goes on. */
  readonly signal: AbortSignal;
  /** Where it stands with work that the counts do not show. @default as the counts say */
  readonly refine?: (status: GroupStatus) => Promise<GroupStatus['state']>;
}

/** Follows a group in a stage to its end, prints its results, and says how it ended. */
export async function followGroup(order: FollowOrder): Promise<ExitCode> {
  const { terminal, engine, header } = order;
  let status = await look(order);
  const progress = new Progress({
    terminal,
    now: () => engine.clock.now(),
    configs: shown(status),
    recount: async () => shown(status),
  });
  const follow = async (): Promise<void> => {
    while (!order.signal.aborted) {
      status = await look(order).catch((error: unknown) => keep(status, error));
      for (const breaker of status.openBreakers) progress.note(describeOpenBreaker(breaker));
      if (isOver(status, header)) return;
      await engine.clock.sleep(LOOK_MS, order.signal);
    }
  };
  await progress.around(follow());
  if (order.signal.aborted) {
    const watch = `thrice status ${header.group} --watch${engine.flag}`;
    terminal.error(`the stage goes on without you; watch it with: ${watch}`);
    terminal.error(`stop it with: thrice cancel ${header.group}${engine.flag}`);
    return exitCodes.interrupted;
  }
  return await reportEnding(status, order);
}

/** The last look stands in for one that a service did not serve; the next one may be. */
function keep(status: GroupStatus, error: unknown): GroupStatus {
  if (error instanceof ThriceError && error.class === 'transient') return status;
  throw error;
}

async function look({ engine, header, refine }: FollowOrder): Promise<GroupStatus> {
  const record = await engine.ledger.readGroup(header.group);
  if (record === undefined) {
    throw new ThriceError({
      code: 'unknown-group',
      message: `group ${header.group}: expected it in the stage, found none; somebody has removed it`,
    });
  }
  const status = await describeStatus(record, engine);
  return refine === undefined ? status : { ...status, state: await refine(status) };
}

function shown({ configs }: GroupStatus): GroupStatus['configs'] {
  return configs.filter(({ cells }) => cells > 0);
}

function isOver({ state }: GroupStatus, { waitForQuota }: GroupHeader): boolean {
  if (state === 'waiting') return !waitForQuota;
  return state !== 'planning' && state !== 'running' && state !== 'publishing';
}

async function reportEnding(status: GroupStatus, order: FollowOrder): Promise<ExitCode> {
  const { terminal, engine, header } = order;
  const isDone = status.state === 'complete' || status.state === 'incomplete';
  // Of a rerun the figures are counted: what is published may be of a moment before its last cell.
  const isPublished = isDone && order.refine === undefined;
  const published = isPublished ? await readPublished(header.group, engine) : undefined;
  const summary = published ?? (await countSummary(header, engine));
  if (order.isJson) terminal.print(JSON.stringify(summary, null, 2));
  else terminal.print(plainText(renderSummary(summary, 'text').trimEnd()));
  if (isDone) {
    terminal.error(`results: ${engine.place}/runs/${header.group}`);
    return reportUnscored(summary, { ...engine, terminal, header });
  }
  const resume = `thrice resume ${header.group}${engine.flag}`;
  if (status.state === 'cancelled') {
    terminal.error(`cancelled: ${header.group}\nresume with: ${resume}`);
    return exitCodes.interrupted;
  }
  for (const breaker of status.openBreakers) terminal.error(describePause(breaker));
  if (status.state === 'waiting') {
    const watch = `thrice status ${header.group} --watch${engine.flag}`;
    terminal.error(`it goes on by itself when the lane opens; watch it with: ${watch}`);
  }
  terminal.error(`resume at once with: ${resume}`);
  return exitCodes.paused;
}

/** The figures as the stage has published them. */
async function readPublished(group: string, { blobs }: StageEngine): Promise<Summary | undefined> {
  const text = await blobs.readText(groupKey(group, 'summary.json'));
  return text === undefined ? undefined : summarySchema.parse(JSON.parse(text));
}
