import {
  type Batch,
  type BatchedCall,
  batchedCallSchema,
  batchSchema,
  type CellKey,
  type NewBatchedCall,
} from '@thrice/core';
import * as z from 'zod';
import { cellPartition, parseItem } from './dynamo-items.ts';
import type { Attributes, ItemKey } from './dynamo-table.ts';
import { payloadSchema } from './payload-store.ts';

const SCHEMA_VERSION = 1;

const callItemSchema = z.object({
  schemaVersion: z.literal(SCHEMA_VERSION),
  callId: z.string(),
  batchId: z.string(),
  state: z.enum(['waiting', 'refused', 'unanswered', 'removed']),
  /** JSON text: the call without what its payload has. Absent once it was removed. */
  call: z.string().optional(),
  ...payloadSchema.shape,
});
/** A call in a batch, in the partition of its cell; its payload is its request. */
export type CallItem = z.infer<typeof callItemSchema>;

const pointerSchema = z.object({
  schemaVersion: z.literal(SCHEMA_VERSION),
  run: z.string(),
  config: z.string(),
  id: z.string(),
  step: z.string(),
});

/** The partition of a group's batches. */
export function batchesPartition(group: string): string {
  return `batches#${group}`;
}

/**
 * The key of the batch of a group, lane and model that gathers calls.
 *
 * It sorts before those of closed ones, so that a query never misses a batch that moves from here to there meanwhile.
 */
export function gatheringKey({
  group,
  lane,
  model,
}: Pick<Batch, 'group' | 'lane' | 'model'>): ItemKey {
  return { pk: batchesPartition(group), sk: `gathering#${lane}#${model}` };
}

/** The key of a batch that gathers no more calls. */
export function batchKey({ group, batchId }: Pick<Batch, 'group' | 'batchId'>): ItemKey {
  return { pk: batchesPartition(group), sk: `id#${batchId}` };
}

/** The partition of the pointers of a batch to its calls. */
export function pointersOf(batchId: string): string {
  return `batch#${batchId}`;
}

/** The key of a batch's pointer to a call. */
export function pointerKey(batchId: string, callId: string): ItemKey {
  return { pk: pointersOf(batchId), sk: callId };
}

/** The key of the latest call of a step in a batch. */
export function batchedCallKey(cell: CellKey, step: string): ItemKey {
  return { pk: cellPartition(cell), sk: `batched#${cell.id}#${step}` };
}

/** The pointer to a call. */
export function toPointer({ cell, place }: Pick<BatchedCall, 'cell' | 'place'>): Attributes {
  const { run, config, id } = cell;
  return { schemaVersion: SCHEMA_VERSION, run, config, id, step: place.step };
}

/** The key of the call that a pointer names. */
export function keyOfPointed(item: Attributes, table: string): ItemKey {
  const { step, ...cell } = parseItem(pointerSchema, item, table);
  return batchedCallKey(cell, step);
}

/** Parses the item of a call. */
export function parseCallItem(item: Attributes, table: string): CallItem {
  return parseItem(callItemSchema, item, table);
}

/** The attributes of a call, without its payload. */
export function toCallItem(call: BatchedCall): Attributes {
  const { request: _, ...facts } = call;
  const { state, callId, batchId } = call;
  return {
    schemaVersion: SCHEMA_VERSION,
    state,
    callId,
    batchId,
    call: JSON.stringify(facts),
  };
}

/**
 * The text of a call's payload. It names the cell, so that no two cells share one that is stored as a blob: a blob is
 * deleted with the cell.
 */
export function toRequestText({ cell, place, request }: NewBatchedCall): string {
  return JSON.stringify({ cell, step: place.step, request });
}

const requestTextSchema = z.object({ request: z.unknown() });

/** Puts a call together. */
export function toBatchedCall({ call = '' }: CallItem, requestText: string): BatchedCall {
  const { request } = requestTextSchema.parse(JSON.parse(requestText));
  return batchedCallSchema.parse({ ...JSON.parse(call), request });
}

/** Reads a batch; undefined for one that is gone, of which a mark is left. */
export function parseBatch(item: Attributes | undefined): Batch | undefined {
  if (item === undefined || item['state'] === 'gone') return undefined;
  const { pk: _, sk: __, openedAtMs: ___, ...batch } = item;
  return batchSchema.parse(batch);
}

/** The attributes of a batch that may be there in one state and not in another. */
const PASSING = ['owner', 'submittedAtMs', 'polledAtMs', 'ageMs', 'endpoint', 'vendorId'];

/** The attributes to remove when a batch takes the place of another. */
export function passingOf(batch: Batch): readonly string[] {
  return PASSING.filter((name) => !(name in batch));
}
