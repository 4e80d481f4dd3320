import { type Stage, stageSchema } from '@thrice/aws';
import { type Lane, readLaneKey } from '@thrice/core';
import { Resource } from 'sst';
import * as z from 'zod';

/** Reads the linked stage. Throws if the function is not linked to it. */
export function readStage(): Stage {
  return stageSchema.parse(Reflect.get(Resource, 'Stack'));
}

/**
 * Reads the key of a lane from the stage's secrets. Undefined if the lane needs none, or if it is not set.
 *
 * @throws {ThriceError} `key-withheld` for a lane that would take it to a host other than those that the stack binds it to.
 */
export function readApiKey(lane: Lane): string | undefined {
  if (lane.apiKeyEnv === undefined) return undefined;
  return readLaneKey(lane, readStage().laneKeys, (name) => readSecret('ApiKeys', name));
}

/** Reads the URL of the webhook, or its secret, from the stage's secrets. Undefined if it is not linked or not set. */
export function readWebhookSecret(name: string): string | undefined {
  return readSecret('Webhook', name);
}

function readSecret(link: 'ApiKeys' | 'Webhook', name: string): string | undefined {
  const secrets = z.record(z.string(), z.unknown()).parse(Reflect.get(Resource, link));
  const secret = secrets[name];
  return typeof secret === 'string' && secret !== '' ? secret : undefined;
}
