import { Logger } from '@aws-lambda-powertools/logger';
import { ThriceError, toThriceError } from '@thrice/core';
import type { LambdaContext } from './sqs-event.ts';

/** Structured lines for CloudWatch, one JSON object each; values are facts, never prompts or keys. */
export interface Log {
  info(message: string, facts?: Readonly<Record<string, unknown>>): void;
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

/** The log of one invocation, on stdout, where Lambda collects it. */
export function openLog(name: string, context: LambdaContext): Log {
  const logger = new Logger({
    serviceName: `thrice-${name}`,
    persistentKeys: { requestId: context.awsRequestId },
  });
  return {
    info: (message, facts = {}) => logger.info(message, { ...facts }),
    error: (message, facts = {}) => logger.error(message, { ...facts }),
  };
}

/**
 * An error for the log: its class and code to be found by, where it was thrown to be repaired by.
 *
 * Of errors that are not ours only the name: the text of some quotes what could not be read.
 */
export function describeThrown(thrown: unknown): Readonly<Record<string, unknown>> {
  const error = toThriceError(thrown);
  const cause = error.cause instanceof Error ? error.cause : error;
  const frames = (cause.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const text = thrown instanceof ThriceError ? error.message : cause.name;
  return { class: error.class, code: error.code, error: text, stack: frames.join('\n') };
}
