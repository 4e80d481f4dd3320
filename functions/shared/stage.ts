import { type Stage, stageSchema } from '@thrice/aws';
import { Resource } from 'sst';
import * as z from 'zod';

/** Reads the linked stage. Throws if the function is not linked to it. */
export function readStage(): Stage {
  return stageSchema.parse(Reflect.get(Resource, 'Stack'));
}

/** Reads a provider's API key from the stage's secrets. Undefined if it is not linked or not set. */
export function readApiKey(name: string): string | undefined {
  return readSecret('ApiKeys', name);
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
