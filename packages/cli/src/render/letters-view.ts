import {
  type CellEntry,
  type CellNow,
  type DeadCell,
  errorOfEntry,
  type LetterList,
  type LetterReport,
  renderTable,
  type UnreadableEntry,
} from '@thrice/core';
import { plainText } from '../terminal.ts';

/** An unreadable message is shown up to this length. */
const BODY_CHARS = 300;

const nowTexts: Readonly<Record<CellNow, string>> = {
  scored: 'meanwhile scored',
  unparsed: 'meanwhile unparsed',
  ungraded: 'ungraded',
  failed: 'still failed',
  'failed-again': 'failed again',
  'running-again': 'running again',
  unfinished: 'unfinished',
  'not-attempted': 'not attempted',
};

/** Cells with dead letters, a line each; the number of letters where there are several. */
export function renderLetterTable(cells: readonly DeadCell[]): string {
  const header = ['run', 'config', 'id', 'class', 'code', 'sent', 'letters', 'now'];
  const rows = cells.map(({ key: { run, config, id }, latest, entries, now }) => {
    const error = errorOfEntry(latest);
    return [
      ...[run, config, id].map(plainText),
      error.class,
      error.code,
      latest.sentAt ?? '–',
      entries.length > 1 ? String(entries.length) : '',
      nowTexts[now],
    ];
  });
  return renderTable(header, rows, 'text').trimEnd();
}

/** What a list holds, by class, in one line. */
export function describeList(list: LetterList, stage: string): string {
  const { cells, unreadable } = list;
  if (cells.length + unreadable.length === 0) return describeNothing(list, stage);
  const letters = cells.reduce((sum, { entries }) => sum + entries.length, 0);
  const classes = Object.entries(countClasses(list)).map(([name, count]) => `${count} ${name}`);
  const ofClasses = classes.length === 0 ? '' : `: ${classes.join(', ')}`;
  const messages =
    unreadable.length === 0 ? '' : `; ${countOf(unreadable.length, 'unreadable message')}`;
  return `${countOf(cells.length, 'cell')} (${countOf(letters, 'letter')})${ofClasses}${messages}`;
}

/** The dead letters of a list in full, cell by cell. */
export function renderLetters({ cells, unreadable }: LetterList): string {
  return plainText([...cells.map(renderCell), ...unreadable.map(renderUnreadable)].join('\n\n'));
}

/** What a replay or a drop did. */
export function describeReport(report: LetterReport, stage: string): string {
  const { letters, cells, problems, unseen } = report;
  if (letters.matched === 0) return describeNothing({ seen: letters.seen, unseen }, stage);
  const { seen, matched, replayed, stale, dropped, unreadable, kept } = letters;
  const stuck = problems.reduce((sum, problem) => sum + problem.letters, 0);
  const reasons = [
    seen > matched ? [`${seen - matched} not asked for`] : [],
    stuck > 0 ? [`${stuck} that cannot be replayed`] : [],
  ].flat();
  const lines = [
    dropped > 0
      ? `dropped ${countOf(dropped, 'letter')} of ${countOf(cells.matched, 'cell')}${unreadable > 0 ? `, ${unreadable} unreadable` : ''}`
      : `replayed ${countOf(cells.replayed, 'cell')} (${countOf(replayed, 'letter')})`,
    stale > 0 ? `deleted ${countOf(stale, 'letter')} of cells that have gone on since` : '',
    kept > 0 ? `kept ${countOf(kept, 'letter')}: ${reasons.join(', ')}` : '',
  ];
  return lines.filter((line) => line !== '').join('\n');
}

/** Letters that a command could not look at. */
export function describeUnseen(unseen: number): string {
  const letters = unseen === 1 ? '1 more letter is' : `${unseen} more letters are`;
  return `about ${letters} in the hands of another command, or of one that was killed; look again in a few minutes`;
}

/** `thrice dlq ls --json`. */
export function listToJson(list: LetterList, stage: string): unknown {
  const cells = list.cells.map(({ key, latest, entries, now }) => {
    const { class: errorClass, code } = errorOfEntry(latest);
    const { sentAt } = latest;
    return { ...key, class: errorClass, code, sentAt, letterCount: entries.length, now };
  });
  const unreadable = list.unreadable.map(({ messageId, sentAt, problem }) => ({
    messageId,
    sentAt,
    problem,
  }));
  return { ...listHead(list, stage), cells, unreadable };
}

/** `thrice dlq show --json`. */
export function showToJson(list: LetterList, stage: string): unknown {
  const cells = list.cells.map(({ key, entries, now }) => ({
    ...key,
    now,
    letters: entries.map((entry) => {
      const { messageId, sentAt, kind, task } = entry;
      const { lane = null } = entry;
      return { messageId, sentAt, kind, lane, task, error: errorOfEntry(entry) };
    }),
  }));
  const unreadable = list.unreadable.map(({ messageId, sentAt, problem, body }) => ({
    messageId,
    sentAt,
    problem,
    bodyChars: body.length,
    body: cut(body),
  }));
  return { ...listHead(list, stage), cells, unreadable };
}

/** `thrice dlq replay --json` and `drop --json`. */
export function reportToJson(report: LetterReport, stage: string): unknown {
  const { letters, cells, problems, unseen, isInterrupted: interrupted } = report;
  return { stage, letters, cells, problems, unseen, interrupted };
}

function listHead(list: LetterList, stage: string) {
  const { seen, unseen, isInterrupted: interrupted } = list;
  return { stage, seen, unseen, interrupted, byClass: countClasses(list) };
}

/** Cells by the class of their latest letter, in the classes' order. */
function countClasses({ cells }: LetterList): Readonly<Record<string, number>> {
  const classes = cells.map(({ latest }) => errorOfEntry(latest).class).toSorted();
  const counts = Map.groupBy(classes, (name) => name);
  return Object.fromEntries([...counts].map(([name, { length }]) => [name, length]));
}

function renderCell({ key: { run, config, id }, entries, now }: DeadCell): string {
  const title = `── ${run} ${config} ${id}: ${nowTexts[now]} ──`;
  return [title, ...entries.map(renderEntry)].join('\n');
}

function renderEntry(entry: CellEntry): string {
  const { kind, messageId, sentAt, lane, task } = entry;
  const { key, offset, length } = task.question;
  const error = errorOfEntry(entry);
  return [
    `${kind} ${messageId}, sent ${sentAt ?? 'at an unknown time'}`,
    `lane ${lane ?? 'unknown'}, generation ${task.generation}, question ${key} from byte ${offset}, ${length} bytes`,
    `error ${error.class}/${error.code}: ${error.message}`,
  ].join('\n');
}

function renderUnreadable({ messageId, sentAt, problem, body }: UnreadableEntry): string {
  const rest = body.length > BODY_CHARS ? `\n(cut, ${body.length} characters in all)` : '';
  return `── unreadable message ${messageId}, sent ${sentAt ?? 'at an unknown time'} ──\n${problem}\n${cut(body)}${rest}`;
}

function cut(body: string): string {
  return body.slice(0, BODY_CHARS).toWellFormed();
}

function describeNothing(
  { seen, unseen }: Pick<LetterList, 'seen' | 'unseen'>,
  stage: string,
): string {
  if (seen === 0) return `no dead letters ${unseen > 0 ? 'at hand ' : ''}in stage ${stage}`;
  return `nothing matched: ${countOf(seen, 'dead letter')} in stage ${stage}, none as asked for`;
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
