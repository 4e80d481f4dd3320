import type { Config } from '../domain/benchmark.ts';
import type { ModelOutput } from '../domain/call.ts';
import type { Message } from '../domain/message.ts';
import type { StepRequest } from '../ports/solver.ts';

/** A call to a config's own model with its own parameters. */
export function requestOf(config: Config, messages: readonly Message[]): StepRequest {
  const { lane, model, temperature, maxTokens, isStreamed, extraBody } = config;
  return { lane, model, messages, tools: [], temperature, maxTokens, isStreamed, extraBody };
}

/** What a model said, for a further message; empty where it said nothing. */
export function textOf({ text }: ModelOutput): string {
  return text ?? '';
}
