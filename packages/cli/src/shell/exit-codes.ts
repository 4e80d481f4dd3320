import type { ThriceError } from '@thrice/core';

/** What a command's end means to the script that called it. */
export const exitCodes = {
  complete: 0,
  /** Finished, but cells have no score. */
  withoutScore: 1,
  /** Paused by a blocked lane, or a check failed. */
  paused: 2,
  usage: 64,
  unavailable: 69,
  bug: 70,
  interrupted: 130,
} as const;

/** A command's end. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The exit code of an error that ended a command. */
export function exitCodeOf(error: ThriceError): ExitCode {
  switch (error.class) {
    case 'input':
      return exitCodes.usage;
    case 'transient':
    case 'rate-limited':
    case 'misconfigured':
      return exitCodes.unavailable;
    case 'exhausted':
      return exitCodes.paused;
    case 'rejected':
      return exitCodes.withoutScore;
    case 'conflict':
      return error.code === 'interrupted' ? exitCodes.interrupted : exitCodes.usage;
    case 'internal':
      return exitCodes.bug;
  }
}
