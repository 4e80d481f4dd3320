import { type Stage, stageSchema } from '@thrice/aws';
import { Resource } from 'sst';
import * as z from 'zod';

/** Reads the linked stage; a function without the link cannot work at all. */
export function readStage(): Stage {
  return stageSchema.parse(Reflect.get(Resource, 'Stack'));
}

/** A provider's key among the stage's secrets; undefined where it is not linked or not set. */
export function readApiKey(name: string): string | undefined {
  const keys = z.record(z.string(), z.unknown()).parse(Reflect.get(Resource, 'ApiKeys'));
  const key = keys[name];
  return typeof key === 'string' && key !== '' ? key : undefined;
}
