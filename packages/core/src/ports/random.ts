/** Returns a uniform number from 0 up to, but not including, 1. Injected so that tests can seed it. */
export type Random = () => number;
