/** Where a limit is known from: the spec, the vendor's headers, or refusals. */
export type LimitSource = 'spec' | 'header' | 'found';

/** The limit in force, a minute. */
export interface EffectiveRate {
  readonly perMinute: number;
  readonly source: LimitSource;
}

/**
 * The rate in force, of those that are known: the lowest, and of equal ones the one that is more certain. Null if none is
 * known.
 *
 * @param known.spec - What the specs of those who share the lane say, a minute.
 * @param known.stated - What the vendor states.
 * @param known.found - What refusals have shown.
 */
export function lowestRate({
  spec,
  stated,
  found,
}: {
  readonly spec: readonly number[];
  readonly stated: number | null;
  readonly found: number | null;
}): EffectiveRate | null {
  const rates: EffectiveRate[] = spec.map((perMinute) => ({ perMinute, source: 'spec' }));
  if (stated !== null) rates.push({ perMinute: stated, source: 'header' });
  if (found !== null) rates.push({ perMinute: found, source: 'found' });
  return rates.reduce<EffectiveRate | null>(
    (lowest, rate) => (lowest === null || rate.perMinute < lowest.perMinute ? rate : lowest),
    null,
  );
}
