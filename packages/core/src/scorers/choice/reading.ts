/**
 * What a rule reads in a text: the letter of a choice, in upper case, or null for a declaration that
 * settles on no single choice, such as "A or B". A rule that finds nothing returns undefined instead,
 * and the next rule is asked.
 */
export interface ChoiceReading {
  readonly letter: string | null;
}

/** A reading and where in the text it starts. */
export interface PlacedReading extends ChoiceReading {
  readonly index: number;
}

/** Returns the letter that all readings share; null if they differ, undefined if there are none. */
export function agree(readings: Iterable<ChoiceReading>): ChoiceReading | undefined {
  let shared: ChoiceReading | undefined;
  for (const { letter } of readings) {
    if (shared !== undefined && letter !== shared.letter) return { letter: null };
    shared = { letter };
  }
  return shared;
}
