import fc from 'fast-check';

/**
 * Time limit of one property, ms: less than that of its test. A property that is too slow thus fails by itself
 * and prints its seed; a test that runs out of time would print nothing.
 */
const LIMIT_MS = 25_000;

// A setup file of the unit and contract tests, so that no property can be without a limit.
fc.configureGlobal({ interruptAfterTimeLimit: LIMIT_MS, markInterruptAsFailure: true });
