import type { Clock } from '@thrice/core';
import { type ModelClients, openModelClients, openTransport } from '@thrice/models';
import { readApiKey } from './stage.ts';

/** Opens the model clients; they read each lane's key from the stage's secrets, by the lane's name for it. */
export function openModels(clock: Clock): ModelClients {
  return openModelClients({
    keyOf: ({ apiKeyEnv }) => (apiKeyEnv === undefined ? undefined : readApiKey(apiKeyEnv)),
    clock,
    transport: openTransport({ environment: process.env }),
  });
}
