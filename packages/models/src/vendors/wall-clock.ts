const DAY_MS = 86_400_000;

/** A time of day, and the day if it is known. */
export interface WallTime {
  readonly hour: number;
  readonly minute: number;
  /** 1..12 and 1..31; undefined for the next day with that time. */
  readonly date?: { readonly month: number; readonly day: number } | undefined;
}

/**
 * The first instant after now at which clocks in a time zone show a time.
 *
 * A time that the change to summer time skips is read with the offset before it.
 *
 * @param zone - IANA name: `Asia/Tokyo`, `Etc/GMT+5`, `UTC`.
 * @returns Ms since 1970; undefined for an unknown zone or an impossible time.
 */
export function nextInstantOf(time: WallTime, zone: string, nowMs: number): number | undefined {
  if (!isZone(zone) || time.hour > 23 || time.minute > 59) return undefined;
  const today = new Date(nowMs + offsetMs(nowMs, zone));
  const year = today.getUTCFullYear();
  const { date } = time;
  const days =
    date === undefined
      ? [0, 1].map((ahead) => Date.UTC(year, today.getUTCMonth(), today.getUTCDate() + ahead))
      : [year, year + 1].map((each) => Date.UTC(each, date.month - 1, date.day));
  if (date !== undefined && new Date(days[0] ?? 0).getUTCDate() !== date.day) return undefined;
  return days
    .map((dayMs) => instantOf(dayMs + time.hour * 3_600_000 + time.minute * 60_000, zone))
    .find((instantMs) => instantMs > nowMs);
}

/** The next midnight in a time zone, ms since 1970. */
export function nextMidnight(zone: string, nowMs: number): number {
  return nextInstantOf({ hour: 0, minute: 0 }, zone, nowMs) ?? nowMs + DAY_MS;
}

/** @param wallMs - What the clocks show, as if it were UTC. */
function instantOf(wallMs: number, zone: string): number {
  const guessMs = wallMs - offsetMs(wallMs, zone);
  return wallMs - offsetMs(guessMs, zone);
}

/** How far the clocks of a zone are ahead of UTC. */
function offsetMs(instantMs: number, zone: string): number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const parts = new Map(format.formatToParts(instantMs).map(({ type, value }) => [type, value]));
  const part = (name: Intl.DateTimeFormatPartTypes) => Number(parts.get(name));
  const wallMs = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return wallMs - Math.floor(instantMs / 1000) * 1000;
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }) !== undefined;
  } catch {
    return false;
  }
}
