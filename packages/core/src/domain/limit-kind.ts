/** What the rate limits of a lane count, each for itself. */
export type LimitKind = 'requests' | 'tokens';
