/** Uniform in 0..1, 1 excluded; injected, so that a test can seed it. */
export type Random = () => number;
