/** What the rate limits of a lane count, each for itself. */
export type LimitKind = 'requests' | 'tokens';

/**
 * The limits that a refusal lowers: the one that the vendor names, otherwise those that may have refused the call. Where there
 * is none, the number of calls is what is lowered, which lowers the tokens with it.
 *
 * @param suspects - The limits that may have refused a call whose vendor does not say which.
 */
export function loweredKinds(
  named: LimitKind | null,
  suspects: readonly LimitKind[],
): readonly LimitKind[] {
  if (named !== null) return [named];
  return suspects.length === 0 ? ['requests'] : suspects;
}
