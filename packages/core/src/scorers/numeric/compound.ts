import type { FoundNumber } from './find-numbers.ts';

/** Two units of one quantity, the greater one first. */
const UNIT_PAIRS: readonly (readonly [greater: string, lesser: string])[] = [
  ['years?', 'months?|weeks?|days?'],
  ['months?', 'weeks?|days?'],
  ['weeks?', 'days?'],
  ['days?', 'hours?|hrs?'],
  ['hours?|hrs?|h', 'minutes?|mins?|m'],
  ['minutes?|mins?|m', 'seconds?|secs?|s'],
  ['feet|foot|ft', String.raw`inch(?:es)?|in(?=\b)`],
  ['pounds?|lbs?', 'ounces?|oz'],
  ['kilograms?|kg', 'grams?|g'],
  ['kilometers?|km', 'meters?|m'],
  ['meters?|m', 'centimeters?|cm'],
  ['dollars?|euros?', 'cents?'],
  ['pounds?', 'pence|p'],
];
const COMPOUNDS = UNIT_PAIRS.map(([greater, lesser]) => ({
  between: new RegExp(String.raw`^[ ]?(?:${greater})\.?,?[ ](?:and[ ])?$`, 'i'),
  after: new RegExp(String.raw`^[ ]?(?:${lesser})(?![\p{L}])`, 'iu'),
}));
/** "$5 and 20 cents" */
const CENTS_BETWEEN = /^,?[ ](?:and[ ])?$/i;
const CENTS_AFTER = /^[ ]?cents?\b/i;

/** Returns whether two numbers are one quantity in two units, as in "3 hours 20 minutes" and "5 ft 10 in". */
export function isCompound(text: string, a: FoundNumber, b: FoundNumber): boolean {
  const between = text.slice(a.end, b.start);
  if (between.length > 20) return false;
  const after = text.slice(b.end, b.end + 20);
  return (
    COMPOUNDS.some((units) => units.between.test(between) && units.after.test(after)) ||
    (/\p{Sc}/u.test(text.slice(a.start, a.end)) &&
      CENTS_BETWEEN.test(between) &&
      CENTS_AFTER.test(after))
  );
}
