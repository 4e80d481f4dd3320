/** Shown for a figure that is unknown or withheld. */
export const NO_FIGURE = '–';

/** Marks a figure that a ruling changes, unless it is unknown. */
export function markRuled(text: string, isRuled: boolean): string {
  return isRuled && text !== NO_FIGURE ? `${text}*` : text;
}

/** A ratio in percent, with one decimal. */
export function formatPercent(ratio: number | null): string {
  return ratio === null ? NO_FIGURE : (ratio * 100).toFixed(1);
}

/** A range of ratios in percent, as in `20.0–80.0`. */
export function formatPercentRange(range: readonly [number | null, number | null] | null): string {
  const isUnknown = range === null || range.every((bound) => bound === null);
  return isUnknown ? NO_FIGURE : range.map(formatPercent).join('–');
}

/** A distance between ratios, with three decimals. */
export function formatDistance(distance: number | null): string {
  return distance === null ? NO_FIGURE : distance.toFixed(3);
}

/** A mean of counts, with two decimals. */
export function formatMean(mean: number | null): string {
  return mean === null ? NO_FIGURE : mean.toFixed(2);
}

/** A figure of any size, with four significant digits. */
export function formatFigure(figure: number | null): string {
  return figure === null ? NO_FIGURE : String(Number(figure.toPrecision(4)));
}

/** A time in seconds, with one decimal: calls of the same speed read the same. */
export function formatSeconds(seconds: number | null): string {
  return seconds === null ? NO_FIGURE : seconds.toFixed(1);
}

/** An amount in US dollars, with four decimals. */
export function formatDollars(amountUsd: number | null): string {
  return amountUsd === null ? NO_FIGURE : `$${amountUsd.toFixed(4)}`;
}

/** A number of tokens, in thousands or millions from 10,000 on. */
export function formatTokens(count: number | null): string {
  if (count === null) return NO_FIGURE;
  if (count < 10_000) return String(count);
  return count < 10_000_000 ? `${Math.round(count / 1_000)}k` : `${Math.round(count / 1_000_000)}M`;
}

/** Significant digits of a number in CSV: what floating point adds in the last digits is no figure. */
const PLAIN_DIGITS = 12;

/** A figure in CSV: plain, and empty where it is unknown. */
export function formatPlain(value: unknown): string {
  if (typeof value === 'number') return String(Number(value.toPrecision(PLAIN_DIGITS)));
  return value === null || value === undefined ? '' : String(value);
}
