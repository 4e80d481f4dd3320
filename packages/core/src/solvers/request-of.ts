import type { Config } from '../domain/benchmark.ts';
import type { ModelOutput } from '../domain/call.ts';
import type { Message } from '../domain/message.ts';
import type { StepRequest } from '../ports/solver.ts';

/** A call to the model of a config, with the parameters of the config. */
export function requestOf(config: Config, messages: readonly Message[]): StepRequest {
  const { lane, model, isStreamed, isBackground, extraBody } = config;
  const { temperature, maxTokens, topP, seed, stop, serviceTier, reasoningEffort } = config;
  return {
    lane,
    model,
    messages,
    tools: [],
    temperature,
    maxTokens,
    topP,
    seed,
    stop,
    serviceTier,
    reasoningEffort,
    isStreamed,
    isBackground,
    extraBody,
  };
}

/** The text of an output, for the next message; empty if there is none. */
export function textOf({ text }: ModelOutput): string {
  return text ?? '';
}
