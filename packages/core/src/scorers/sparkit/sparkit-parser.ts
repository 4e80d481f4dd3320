import * as z from 'zod';

/** The parameter that has a scorer read answers as SPARKIT does, faults included. */
export const sparkitParserShape = {
  /** `sparkit` to read answers as SPARKIT does. The scorer's own way if it is left out. */
  parser: z.literal('sparkit', { error: 'expected "sparkit"' }).optional(),
};
