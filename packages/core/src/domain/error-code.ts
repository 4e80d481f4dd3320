import * as z from 'zod';
import { type ErrorClass, type ErrorCode, errorCodesByClass } from '../errors.ts';

/** The code of a stored error. */
export const errorCodeSchema = z.enum(
  Object.values(errorCodesByClass).flat() as [ErrorCode, ...ErrorCode[]],
);
/** The class of a stored error. */
export const errorClassSchema = z.enum(
  Object.keys(errorCodesByClass) as [ErrorClass, ...ErrorClass[]],
);

/** An error as stored: no stack, no secrets, the text cut to `limits.errorTextChars`. */
export const cellErrorSchema = z.strictObject({
  class: errorClassSchema,
  code: errorCodeSchema,
  message: z.string(),
});
/** An error as stored. */
export type CellError = z.infer<typeof cellErrorSchema>;
