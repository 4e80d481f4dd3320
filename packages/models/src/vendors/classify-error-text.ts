import type { ThriceError } from '@thrice/core';
import { mapHttpError } from './map-http-error.ts';
import { mapLimitText } from './map-limit-text.ts';

/** What Python puts before the text of an exception. */
const EXCEPTION_TYPE = /^[A-Za-z_][\w.]{0,100}: /;

/**
 * Classifies the text of an error that another tool has recorded, without the response that it was made of.
 *
 * @param nowMs - Now, ms since 1970, for texts that name a time of day.
 */
export function classifyErrorText(text: string, nowMs: number): ThriceError {
  const body = text.replace(EXCEPTION_TYPE, '');
  const refusal = { status: undefined, body, header: () => null };
  return mapLimitText(body, nowMs) ?? mapHttpError(refusal, nowMs, 0);
}
