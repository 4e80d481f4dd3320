import type { GroupHeader } from '../domain/group.ts';
import type { Notification } from '../domain/notification.ts';
import { assertNever } from '../errors.ts';
import { limits } from '../limits.ts';
import { raiseCommand } from './raise-command.ts';

/** A blocked lane or model, as far as a notification tells of it. */
export interface BlockedLane {
  /** `lane` or `lane/model`. */
  readonly breakerKey: string;
  readonly reason: string;
  /** When it is tried again, ISO-8601 UTC; null if that is not known. */
  readonly until: string | null;
}

/** Something that has happened to a group. */
export type GroupEvent =
  /** All cells are done. */
  | {
      readonly kind: 'end';
      readonly cells: number;
      readonly scored: number;
      readonly unparsed: number;
      readonly ungraded: number;
      readonly failed: number;
      readonly costUsd: number | null;
    }
  /** Everything that is left waits for blocked lanes. */
  | {
      readonly kind: 'pause';
      readonly cells: number;
      readonly done: number;
      readonly lanes: readonly BlockedLane[];
      /** Whether it resumes by itself. */
      readonly isWaiting: boolean;
    }
  /** So many cells have failed that it is worth a look before the end. */
  | {
      readonly kind: 'failure';
      readonly cells: number;
      readonly failed: number;
    }
  /** A budget is nearly used up, or used up. */
  | {
      readonly kind: 'budget';
      readonly level: 'warning' | 'cap';
      /** The lane whose budget it is; empty for that of the group. */
      readonly lane: string;
      readonly spentUsd: number;
      readonly capUsd: number;
      /** What the call that was refused last may cost; null if none was. */
      readonly nextUsd: number | null;
      /** How many edits of the plan have set this cap. */
      readonly editCount: number;
    };

/** The part of a notification that depends on the event. */
export type EventDescription = Pick<Notification, 'key' | 'text' | 'facts'>;

/** What the command that an event calls for depends on. */
export interface CommandPlace {
  readonly header: GroupHeader;
  /** What the command needs to find the group, as ` --stage dev`. */
  readonly flag: string;
}

/** Describes an event for people and programs, with the command that it calls for; see {@link Notification}. */
export function describeEvent(event: GroupEvent, { header, flag }: CommandPlace): EventDescription {
  const { group } = header;
  const resume = `thrice resume ${group}${flag}`;
  switch (event.kind) {
    case 'end':
      return describeEnd(event, `thrice rerun ${group} --failed${flag}`);
    case 'pause':
      return describePause(event, resume);
    case 'failure':
      return describeFailures(event, `thrice status ${group}${flag}`);
    case 'budget':
      return describeBudget(
        event,
        raiseCommand(event.lane === '' ? event : null, { resume, header }),
      );
    default:
      return assertNever(event);
  }
}

function describeEnd(
  event: Extract<GroupEvent, { kind: 'end' }>,
  command: string,
): EventDescription {
  const { kind: _, costUsd, ...counts } = event;
  const { cells, scored, unparsed, ungraded, failed } = counts;
  const withoutScore = ungraded + failed;
  const text =
    withoutScore === 0
      ? `complete: ${cells} cells`
      : `finished: ${withoutScore} of ${cells} cells have no score (${failed} failed, ${ungraded} ungraded); retry them with: ${command}`;
  return {
    // A rerun that changes a count is another end.
    key: ['end', cells, scored, unparsed, ungraded, failed].join('#'),
    text: costUsd === null ? text : `${text}; ${renderUsd(costUsd)}`,
    facts: { ...counts, ...(costUsd !== null && { costUsd }), command },
  };
}

function describePause(
  event: Extract<GroupEvent, { kind: 'pause' }>,
  command: string,
): EventDescription {
  const { cells, done, lanes, isWaiting } = event;
  const reasons = lanes.map(({ breakerKey, reason, until }) => {
    const end = until === null ? '' : ` until ${until}`;
    return `${breakerKey.includes('/') ? 'model' : 'lane'} ${breakerKey} is blocked${end}: ${reason}`;
  });
  const [first] = lanes;
  const next = isWaiting ? 'it resumes by itself' : `resume with: ${command}`;
  return {
    // While no cell is done, it is the same pause, however often a lane is tried.
    key: ['pause', done, ...lanes.map(({ breakerKey }) => breakerKey).toSorted()].join('#'),
    text: `${isWaiting ? 'waiting' : 'paused'} at ${done} of ${cells} cells; ${reasons.join('; ')}; ${next}`,
    facts: {
      cells,
      done,
      isWaiting,
      lanes: lanes.map(({ breakerKey }) => breakerKey).join(','),
      ...(first !== undefined && { reason: first.reason }),
      ...(typeof first?.until === 'string' && { until: first.until }),
      command,
    },
  };
}

function describeFailures(
  { cells, failed }: Extract<GroupEvent, { kind: 'failure' }>,
  command: string,
): EventDescription {
  return {
    key: 'failure',
    text: `${failed} of ${cells} cells have failed so far; see: ${command}`,
    facts: { cells, failed, command },
  };
}

function describeBudget(
  event: Extract<GroupEvent, { kind: 'budget' }>,
  command: string,
): EventDescription {
  const { level, lane, spentUsd, capUsd, editCount } = event;
  const whose = lane === '' ? 'the budget' : `the budget of lane ${lane}`;
  const spent = `${renderUsd(spentUsd)} of ${renderUsd(capUsd)}`;
  return {
    // A cap that is set again is told again.
    key: ['budget', level, lane, capUsd, editCount].join('#'),
    text:
      level === 'cap'
        ? `paused: ${whose} is used up (${spent}); raise it with: ${command}`
        : `${whose} is nearly used up (${spent})`,
    facts: { level, ...(lane !== '' && { lane }), spentUsd, capUsd, command },
  };
}

function renderUsd(usd: number): string {
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** Whether so many cells have failed that it is told before the end. */
export function areManyFailed({
  failed,
  cells,
}: {
  readonly failed: number;
  readonly cells: number;
}): boolean {
  return failed > 0 && failed >= cells * limits.notifiedFailureRatio;
}
