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
