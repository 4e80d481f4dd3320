import fc from 'fast-check';
import { judges } from './aws-judges.ts';

/**
 * Time limit of one property, ms: less than that of its test. A property that is too slow thus fails by itself
 * and prints its seed; a test that runs out of time would print nothing.
 */
const LIMIT_MS = 80_000;
/** A judge is slower than an emulator in the test's own process. */
const JUDGED_LIMIT_MS = 100_000;
const isJudged = judges.dynamoUrl !== undefined;

// A setup file of the unit and contract tests, so that no property can be without a limit.
fc.configureGlobal({
  interruptAfterTimeLimit: isJudged ? JUDGED_LIMIT_MS : LIMIT_MS,
  markInterruptAsFailure: true,
});
